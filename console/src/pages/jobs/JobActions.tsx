// What can be done to a job from wherever it is shown.
import { useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { api, type Schemas } from "../../api/client"
import { Act, done } from "../../parts/Act"
import { useUndoable } from "../../parts/change"
import { showChanged } from "../../parts/shown"
import { useWords } from "../../parts/words"
import "./jobs.css"

export type Job = Schemas["JobView"]
type Mode = Job["mode"]
type Verb = "enable" | "disable" | "pause" | "resume"

/** What a verb makes of a job. */
const MADE: Record<Verb, Mode> = { enable: "enabled", disable: "disabled", pause: "paused", resume: "enabled" }
const TOLD = { enable: "enabled", disable: "disabled", pause: "paused", resume: "resumed" } as const
/** The way back to a mode. */
const BACK: Record<Mode, Verb> = { enabled: "enable", disabled: "disable", paused: "pause" }

/** What there is to do in a mode; in a list only what is done most. */
export function verbsOf(mode: Mode, small = false): Verb[] {
  if (mode === "disabled") return ["enable"]
  const other = mode === "paused" ? "resume" : "pause"
  if (small) return [mode === "paused" ? "resume" : "disable"]
  return [other, "disable"]
}

export function JobActions({ job, small }: { job: Job; small?: boolean }) {
  const t = useWords("designer")
  const navigate = useNavigate()
  const name = job.name
  const place = { folder: job.folder, labels: job.labels }
  const size = small ? "small" : "middle"
  const trigger = async () => {
    const made = await done(api.POST("/api/v1/jobs/{name}/trigger", { params: { path: { name } }, body: {} }))
    await navigate({ to: "/instances/$id", params: { id: made.id } })
    return t("action.triggered", { job: name })
  }
  const carry = useMode(job)
  return (
    <span className="actions">
      <Act
        size={size}
        needs="job.run"
        place={place}
        act={trigger}
        aria-label={`${t("action.trigger")}: ${name}`}
        disabled={job.mode === "disabled"}
      >
        {t("action.trigger")}
      </Act>
      {verbsOf(job.mode, small).map((verb) => (
        <Act
          key={verb}
          size={size}
          needs="job.run"
          place={place}
          act={() => carry(verb)}
          title={verb === "disable" || verb === "pause" ? t(`action.${verb}_hint`) : undefined}
          aria-label={`${t(`action.${verb}`)}: ${name}`}
        >
          {t(`action.${verb}`)}
        </Act>
      ))}
    </span>
  )
}

/** Puts a job into another mode: shown at once, taken back if it is refused, undone if somebody wants. */
function useMode({ name, mode }: Job) {
  const t = useWords("designer")
  const undoable = useUndoable()
  const queries = useQueryClient()
  const put = (verb: Verb) => api.POST(`/api/v1/jobs/{name}/${verb}`, { params: { path: { name } } })
  return (verb: Verb) =>
    undoable(
      put(verb),
      t(`action.${TOLD[verb]}`, { job: name }),
      () => put(BACK[mode]),
      (undone) => showChanged(queries, "jobs", (job) => job.name === name, { mode: undone ? mode : MADE[verb] }),
    )
}
