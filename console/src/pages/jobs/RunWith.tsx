// Runs a job once with other parameters, or on a certain agent.
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { api, asked } from "../../api/client"
import { done } from "../../parts/Act"
import { Area, Field } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { browserZone, usePrefs } from "../../parts/prefs"
import { fromLocal } from "../../parts/time"
import { useWords } from "../../parts/words"
import type { Job } from "./JobActions"

export function RunWith({ job }: { job: Job }) {
  const t = useWords("designer")
  const place = { folder: job.folder, labels: job.labels }
  return (
    <Opens
      needs="job.run"
      place={place}
      words={t("run.with")}
      title={t("run.title", { job: job.name })}
      disabled={job.mode === "disabled"}
    >
      {(close) => <RunForm job={job} close={close} />}
    </Opens>
  )
}

function RunForm({ job, close }: { job: Job; close: () => void }) {
  const t = useWords("designer")
  const navigate = useNavigate()
  const [params, setParams] = useState(JSON.stringify(job.body?.params ?? {}, null, 2))
  const [on, setOn] = useState("")
  const zone = usePrefs().zone ?? browserZone()
  const [planned, setPlanned] = useState("")
  const isExecutor = job.body?.executor != null
  const [text, setText] = useState("")
  const agents = asked.useQuery("get", "/api/v1/agents")
  const broken = parsed(params) === undefined
  const act = async () => {
    const body = {
      params: parsed(params) ?? {},
      on: on || null,
      planned_at: fromLocal(planned, zone) ?? null,
      ...(isExecutor && text !== "" ? { text } : {}),
    }
    const made = await done(api.POST("/api/v1/jobs/{name}/trigger", { params: { path: { name: job.name } }, body }))
    close()
    await navigate({ to: "/instances/$id", params: { id: made.id } })
    return t("action.triggered", { job: job.name })
  }
  return (
    <Form submit={t("action.trigger")} act={act} disabled={broken}>
      <Area
        words={t("run.params")}
        hint={broken ? t("run.params_broken") : t("run.params_hint")}
        value={params}
        change={setParams}
        rows={5}
        spellCheck={false}
      />
      {isExecutor && <Field words={t("run.text")} hint={t("run.text_hint")} value={text} change={setText} />}
      <Field
        words={t("run.on")}
        hint={t("run.on_hint")}
        value={on}
        change={setOn}
        choices={agents.data?.items.map((one) => one.name) ?? []}
      />
      <Field
        words={t("run.planned")}
        hint={t("run.planned_hint", { zone })}
        type="datetime-local"
        step={1}
        value={planned}
        change={setPlanned}
      />
    </Form>
  )
}

function parsed(text: string): Record<string, never> | undefined {
  try {
    const read: unknown = JSON.parse(text.trim() === "" ? "{}" : text)
    return typeof read === "object" && read !== null && !Array.isArray(read)
      ? (read as Record<string, never>)
      : undefined
  } catch {
    return undefined
  }
}
