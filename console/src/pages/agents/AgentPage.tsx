// One agent or executor: what it is, how busy it is, what its machine lets tasks do, who else uses it, what it runs.
import { Link, useParams } from "@tanstack/react-router"
import { asked } from "../../api/client"
import { Moment } from "../../parts/Moment"
import { useMay } from "../../parts/may"
import { ProblemBox } from "../../parts/ProblemBox"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { labelsOut } from "../../parts/written"
import { Loading } from "../../shell/Loading"
import { InstanceRows } from "../instances/InstanceRows"
import { type Agent, AgentActions } from "./AgentActions"
import { Load, Presence } from "./Load"
import { Policy } from "./Policy"
import { Sharing } from "./Sharing"
import { slotsOf } from "./slots"
import "./agents.css"

const SHOWN = 20

export function AgentPage() {
  const t = useWords("admin")
  const { id } = useParams({ from: "/agents/$id" })
  const may = useMay()
  const params = { path: { id } }
  const asking = asked.useQuery("get", "/api/v1/agents/{id}", { params }, { refetchInterval: 10_000 })
  const { data, error } = asking
  useTitle(data?.name ?? t("agents.title"))
  if (error) return <ProblemBox error={error} again={() => void asking.refetch()} />
  if (!data) return <Loading />
  return (
    <div className="stack">
      <div className="head">
        <h1>{data.name}</h1>
        <Presence agent={data} />
        <span className="grow" />
        <AgentActions agent={data} />
      </div>
      <div className="columns">
        <Facts agent={data} />
        {data.kind === "agent" && <Policy policy={data.policy} />}
        {data.kind === "agent" && <Sharing agent={data} />}
      </div>
      {may("instance.see") && <Running agent={data} />}
      {may("audit.see") && (
        <p>
          <Link to="/audit" search={{ about: String(data.id) }}>
            {t("agents.audit")}
          </Link>
        </p>
      )}
    </div>
  )
}

function Facts({ agent }: { agent: Agent }) {
  const t = useWords("admin")
  const labels = labelsOut(agent.labels)
  return (
    <section className="card">
      <h2>{t("agents.facts")}</h2>
      <dl className="facts">
        <dt>{t("agents.column.kind")}</dt>
        <dd>{t(`agents.kind.${agent.kind}`)}</dd>
        <dt>{t("agents.number")}</dt>
        <dd>{agent.id}</dd>
        <dt>{t("agents.column.pools")}</dt>
        <dd>{agent.pools.join(", ")}</dd>
        {labels && <dt>{t("agents.labels")}</dt>}
        {labels && <dd>{labels}</dd>}
        <dt>{t("agents.column.running")}</dt>
        <dd>{agent.load ? t("agents.slots", { running: agent.load.running, slots: slotsOf(agent.slots) }) : "–"}</dd>
        <dt>{t("agents.column.load")}</dt>
        <dd>
          <Load agent={agent} words />
        </dd>
        <dt>{t("agents.column.version")}</dt>
        <dd>{agent.version || "–"}</dd>
        <dt>{t("agents.joined")}</dt>
        <dd>
          <Moment at={agent.joined_at} />
        </dd>
        <dt>{t("agents.column.seen")}</dt>
        <dd>
          <Moment at={agent.seen_at} />
        </dd>
      </dl>
    </section>
  )
}

function Running({ agent }: { agent: Agent }) {
  const t = useWords("admin")
  const query = { state: "open", agent: agent.id, limit: SHOWN }
  const { data, error } = asked.useQuery("get", "/api/v1/instances", { params: { query } })
  const here = data?.items ?? []
  return (
    <section aria-labelledby="running">
      <h2 id="running">{t("agents.work")}</h2>
      {error && <ProblemBox error={error} />}
      {here.length > 0 && <InstanceRows rows={here} label={t("agents.work")} without={["agent"]} />}
      {data && here.length === 0 && <p className="soft">{t("agents.idle")}</p>}
      <p>
        <Link to="/instances" search={{ agent: String(agent.id) }}>
          {t("agents.all_work")}
        </Link>
      </p>
    </section>
  )
}
