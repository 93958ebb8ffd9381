// A job that broke us is held: why, and how it goes on.

import { api } from "../../api/client"
import { Act } from "../../parts/Act"
import { useChange } from "../../parts/change"
import { useWords } from "../../parts/words"
import type { Job } from "../jobs/JobActions"

export function Held({ job }: { job: Job }) {
  const t = useWords("designer")
  const change = useChange()
  const { name } = job
  const release = () =>
    change(api.POST("/api/v1/jobs/{name}/release", { params: { path: { name } } }), t("job.released", { job: name }))
  return (
    <section className="card" role="alert" aria-labelledby="held">
      <h2 id="held">{t("job.held_title")}</h2>
      <p>{job.held}</p>
      <p className="soft">{t("job.held_hint")}</p>
      <Act needs="job.run" place={{ folder: job.folder, labels: job.labels }} act={release}>
        {t("job.release")}
      </Act>
    </section>
  )
}
