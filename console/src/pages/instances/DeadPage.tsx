// Dead letters: what failed for good and waits for somebody to replay it.
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Empty } from "../../parts/Empty"
import { LateInput } from "../../parts/LateInput"
import { ProblemBox } from "../../parts/ProblemBox"
import { Pager, useFilters } from "../../parts/paged"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { type DeadFilters, deadQuery, instancesAsked } from "../../routes/monitor"
import { Loading } from "../../shell/Loading"
import { isNoJob, NoJob } from "./NoJob"
import { PickedRows } from "./PickedRows"

export function DeadPage() {
  const t = useWords(["monitor", "parts"])
  const { filters, change } = useFilters<DeadFilters>()
  const { job, cursor } = filters
  const query = deadQuery(filters)
  const asking = useQuery({ ...instancesAsked(query, cursor), placeholderData: keepPreviousData })
  const { error } = asking
  const unknown = isNoJob(job, error)
  const data = error ? undefined : asking.data
  const any = () => void change({ job: undefined })
  useTitle(t("monitor:dead.title"))
  return (
    <>
      <div className="head">
        <h1>{t("monitor:dead.title")}</h1>
      </div>
      <p className="soft">{t("monitor:dead.intro")}</p>
      <search className="filters">
        <label>
          {t("monitor:instances.job")}
          <LateInput
            value={job ?? ""}
            placeholder={t("monitor:instances.any_job")}
            change={(name) => void change({ job: name || undefined })}
          />
        </label>
      </search>
      {error && !unknown && <ProblemBox error={error} again={() => void asking.refetch()} />}
      {unknown && <NoJob job={job} clear={any} />}
      {asking.isPending && <Loading />}
      {data && data.items.length > 0 && (
        <PickedRows
          rows={data.items}
          label={t("monitor:dead.title")}
          query={query}
          paged={cursor !== undefined || data.next != null}
        />
      )}
      {data && data.items.length === 0 && !job && (
        <Empty title={t("monitor:dead.empty")} hint={t("monitor:dead.empty_hint")} />
      )}
      {data && data.items.length === 0 && job && (
        <Empty title={t("monitor:dead.empty")} hint={t("parts:list.none_hint")}>
          <button type="button" className="plain" onClick={any}>
            {t("parts:list.clear")}
          </button>
        </Empty>
      )}
      {data && <Pager shown={data.items.length} next={data.next} updating={asking.isPlaceholderData} />}
    </>
  )
}
