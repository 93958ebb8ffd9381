// All instances, newest planned time first. What is filtered for is in the address.
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { Empty } from "../../parts/Empty"
import { ProblemBox } from "../../parts/ProblemBox"
import { Pager, useFilters } from "../../parts/paged"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { type InstanceFilters, instanceQuery, instancesAsked } from "../../routes/monitor"
import { Loading } from "../../shell/Loading"
import { Filters } from "./Filters"
import { isNoJob, NoJob } from "./NoJob"
import { PickedRows } from "./PickedRows"

export function InstancesPage() {
  const t = useWords("monitor")
  const { filters, change } = useFilters<InstanceFilters>()
  const { cursor } = filters
  const query = instanceQuery(filters)
  const asking = useQuery({ ...instancesAsked(query, cursor), placeholderData: keepPreviousData })
  const { error } = asking
  const unknown = isNoJob(filters.job, error)
  // What was shown for other filters says nothing about these.
  const data = error ? undefined : asking.data
  useTitle(t("instances.title"))
  const filtered = Object.keys(NO_FILTERS).some((name) => filters[name as keyof InstanceFilters] !== undefined)
  return (
    <>
      <div className="head">
        <h1>{t("instances.title")}</h1>
      </div>
      <Filters filters={filters} change={change} />
      {error && !unknown && <ProblemBox error={error} again={() => void asking.refetch()} />}
      {unknown && <NoJob job={filters.job} clear={() => void change({ job: undefined })} />}
      {asking.isPending && <Loading />}
      {data && data.items.length > 0 && (
        <PickedRows
          rows={data.items}
          label={t("instances.title")}
          query={query}
          paged={cursor !== undefined || data.next != null}
        />
      )}
      {data && data.items.length === 0 && <None filtered={filtered} clear={() => void change(NO_FILTERS)} />}
      {data && <Pager shown={data.items.length} next={data.next} updating={asking.isPlaceholderData} />}
    </>
  )
}

const NO_FILTERS: InstanceFilters = {
  state: undefined,
  job: undefined,
  from: undefined,
  to: undefined,
  parent: undefined,
  agent: undefined,
  cause: undefined,
  folder: undefined,
  label: undefined,
}

function None({ filtered, clear }: { filtered: boolean; clear: () => void }) {
  const t = useWords(["monitor", "parts"])
  if (!filtered) {
    return (
      <Empty title={t("monitor:instances.empty")} hint={t("monitor:instances.empty_hint")}>
        <Link to="/">{t("monitor:instances.to_home")}</Link>
      </Empty>
    )
  }
  return (
    <Empty title={t("parts:list.none")} hint={t("parts:list.none_hint")}>
      <button type="button" className="plain" onClick={clear}>
        {t("parts:list.clear")}
      </button>
    </Empty>
  )
}
