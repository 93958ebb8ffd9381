// What somebody filtered for is the name of no job: said calmly, with a way on.

import { asProblem, NO_JOB } from "../../api/problem"
import { Empty } from "../../parts/Empty"
import { useWords } from "../../parts/words"

export function isNoJob(job: string | undefined, error: unknown): boolean {
  return job !== undefined && error != null && asProblem(error).code === NO_JOB
}

export function NoJob({ job, clear }: { job: string | undefined; clear: () => void }) {
  const t = useWords("monitor")
  return (
    <Empty title={t("instances.no_job", { job })} hint={t("instances.no_job_hint")}>
      <button type="button" className="plain" onClick={clear}>
        {t("instances.any_job_then")}
      </button>
    </Empty>
  )
}
