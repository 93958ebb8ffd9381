// The job as a file, with completion, and with each fault where it is.
import { useMemo } from "react"
import { asked } from "../../api/client"
import type { Problem } from "../../api/problem"
import { CodeField } from "../../parts/code/lazy"
import { useFaultHint, useFaultTitle } from "../../parts/ProblemBox"
import { useWords } from "../../parts/words"
import { completer, type Described } from "./completion"

type Props = { text: string; change: (text: string) => void; problem: Problem | undefined }

export function YamlView({ text, change, problem }: Props) {
  const t = useWords("editor")
  const { data, isPending } = asked.useQuery("get", "/api/v1/openapi.json", undefined, {
    staleTime: Number.POSITIVE_INFINITY,
  })
  const titleOf = useFaultTitle(problem !== undefined)
  const hintOf = useFaultHint(problem !== undefined)
  const faults = useMemo(() => placesOf(problem, titleOf, hintOf), [problem, titleOf, hintOf])
  const complete = useMemo(() => completer(data as Described | undefined), [data])
  if (isPending) return null
  return (
    <div>
      <CodeField label={t("yaml")} language="yaml" value={text} change={change} faults={faults} complete={complete} />
      <p className="soft">{t("yaml_hint")}</p>
    </div>
  )
}

function placesOf(
  problem: Problem | undefined,
  titleOf: (code: string) => string,
  hintOf: ReturnType<typeof useFaultHint>,
) {
  return (problem?.errors ?? []).map((fault) => ({
    line: fault.line ?? 1,
    column: fault.column ?? 1,
    text: [`${titleOf(fault.code)}${fault.message} (${fault.code})`, hintOf(fault.hint)].filter(Boolean).join("\n"),
  }))
}
