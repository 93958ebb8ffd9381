// Ways to change a job, for whoever may: edit, copy, save as a file, delete.
import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { api } from "../../api/client"
import { Act, done } from "../../parts/Act"
import { useMay } from "../../parts/may"
import { save } from "../../parts/save"
import { useWords } from "../../parts/words"
import type { Job } from "../jobs/JobActions"
import { SCRIPTS } from "../script/script"

export function EditLinks({ job }: { job: Job }) {
  const t = useWords("designer")
  const may = useMay()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const place = { folder: job.folder, labels: job.labels }
  const params = { path: { name: job.name } }
  const download = async () => {
    const text = await done(api.GET("/api/v1/jobs/{name}/export", { params, parseAs: "text" }))
    save(new Blob([String(text)], { type: "application/yaml" }), `${job.name}.yaml`)
    return undefined
  }
  const remove = async () => {
    await done(api.DELETE("/api/v1/jobs/{name}", { params }))
    await navigate({ to: "/jobs" })
    void queries.invalidateQueries()
    return t("action.removed", { job: job.name })
  }
  const ask = {
    title: t("action.remove_ask", { job: job.name }),
    text: t("action.remove_hint"),
    yes: t("action.remove"),
    danger: true,
  }
  return (
    <>
      {may("job.edit", place) && (
        <>
          <Link to="/jobs/$name/edit" params={{ name: job.name }} className="as-button">
            {t("action.edit")}
          </Link>
          {job.body && SCRIPTS.some((one) => job.body?.[one] != null) && (
            <Link to="/jobs/$name/script" params={{ name: job.name }} className="as-button">
              {t("action.script")}
            </Link>
          )}
          <Link to="/new-job" search={{ copy: job.name }} className="as-button">
            {t("action.copy")}
          </Link>
        </>
      )}
      <Act act={download}>{t("action.export")}</Act>
      <Act danger needs="job.edit" place={place} ask={ask} act={remove}>
        {t("action.remove")}
      </Act>
    </>
  )
}
