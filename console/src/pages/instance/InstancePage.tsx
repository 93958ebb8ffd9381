// One instance: what it is, why it is so, its tries, and its output as it is written.
import { Link, useParams, useSearch } from "@tanstack/react-router"
import { asked } from "../../api/client"
import { LogView } from "../../parts/log/LogView"
import { useMay } from "../../parts/may"
import { ProblemBox } from "../../parts/ProblemBox"
import { StateTag } from "../../parts/StateTag"
import { useTitle } from "../../parts/title"
import { Why } from "../../parts/Why"
import { useWords } from "../../parts/words"
import { Loading } from "../../shell/Loading"
import { Actions } from "./Actions"
import { Attempts } from "./Attempts"
import { Facts } from "./Facts"
import { History } from "./History"
import { Interventions, Shares } from "./More"

export function InstancePage() {
  const t = useWords("monitor")
  const { id } = useParams({ from: "/instances/$id" })
  const { attempt } = useSearch({ from: "/instances/$id" })
  const may = useMay()
  const asking = asked.useQuery("get", "/api/v1/instances/{id}", { params: { path: { id } } })
  const { data, error } = asking
  useTitle(data ? `${data.job} ${id}` : t("instance.title", { id }))
  if (error) return <ProblemBox error={error} again={() => void asking.refetch()} />
  if (!data) return <Loading />
  // A new try has output of its own: the log begins anew with it.
  const shown = attempt ?? data.attempt
  return (
    <div className="stack">
      <div className="head">
        <h1>
          <Link to="/jobs/$name" params={{ name: data.job }}>
            {data.job}
          </Link>{" "}
          <span className="soft number">{t("instance.title", { id })}</span>
        </h1>
        <StateTag state={data.state} />
        <span className="grow" />
        <Actions instance={data} />
      </div>
      <div className="columns">
        <div className="stack">
          <Facts instance={data} />
          <History instance={data} />
        </div>
        <div className="stack">
          <InstanceWhy id={id} />
          <Attempts instance={data} shown={shown} />
          <Interventions id={id} />
        </div>
      </div>
      <Shares instance={data} />
      {may("log.see") && (
        <section className="card">
          <h2>{t("instance.log")}</h2>
          <LogView instance={id} attempt={shown} />
        </section>
      )}
    </div>
  )
}

function InstanceWhy({ id }: { id: number }) {
  const t = useWords("monitor")
  const { data, error } = asked.useQuery("get", "/api/v1/instances/{id}/why", { params: { path: { id } } })
  return <Why title={t("instance.why")} why={data} error={error} />
}
