// Jobs from files: pasted or chosen, the plan first, then all or nothing.
import { useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { Act } from "../../parts/Act"
import { CodeField } from "../../parts/code/lazy"
import { useFaultHint, useFaultTitle } from "../../parts/ProblemBox"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { apply, useCheck } from "./check"
import { PlanCard } from "./PlanCard"
import "./editor.css"

const NAME = "import.yaml"

export function ImportPage() {
  const t = useWords("editor")
  const [text, setText] = useState("")
  const queries = useQueryClient()
  const navigate = useNavigate()
  const check = useCheck(text, NAME)
  useTitle(t("import.title"))
  const changes = check.plan?.items.filter((item) => item.action !== "same") ?? []
  const ready = text.trim() !== "" && !check.checking && !check.problem && changes.length > 0
  const act = async () => {
    const plan = await apply(text, NAME, false)
    await queries.invalidateQueries()
    await navigate({ to: "/jobs" })
    return t("import.done", { count: plan.items.filter((item) => item.action !== "same").length })
  }
  const choose = async (files: FileList | null) => {
    const texts = await Promise.all([...(files ?? [])].map((file) => file.text()))
    setText(texts.map((one) => one.trimEnd()).join("\n---\n"))
  }
  const titleOf = useFaultTitle(check.problem !== undefined)
  const hintOf = useFaultHint(check.problem !== undefined)
  const faults = (check.problem?.errors ?? []).map((fault) => ({
    line: fault.line ?? 1,
    column: fault.column ?? 1,
    text: [`${titleOf(fault.code)}${fault.message}`, hintOf(fault.hint)].filter(Boolean).join("\n"),
  }))
  return (
    <div className="stack">
      <div className="head">
        <h1>{t("import.title")}</h1>
        <span className="grow" />
        <Act type="primary" needs="job.edit" act={act} disabled={!ready}>
          {text.trim() !== "" && check.plan && changes.length === 0 ? t("import.nothing") : t("import.apply")}
        </Act>
      </div>
      <p className="soft">{t("import.intro")}</p>
      <label className="against">
        {t("import.file")}{" "}
        <input type="file" multiple accept=".yaml,.yml,.json" onChange={(event) => void choose(event.target.files)} />
      </label>
      <div className="editor">
        <CodeField label={t("import.text")} language="yaml" value={text} change={setText} faults={faults} />
        {text.trim() !== "" && <PlanCard check={check} />}
      </div>
    </div>
  )
}
