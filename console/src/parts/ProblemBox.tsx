// A problem: code, cause as the server told it, what to do, and every single fault. Never swallows one.
import { useCallback } from "react"
import { asProblem, type Problem, UNREACHABLE, UNREADABLE } from "../api/problem"
import { helpFor, useProblems } from "../words/problems"
import { useWords } from "./words"
import "./problem.css"

/** Untitled where something around it has the title already. */
export function ProblemBox({ error, again, untitled }: { error: unknown; again?: () => void; untitled?: boolean }) {
  const t = useWords("parts")
  const problem = asProblem(error)
  const { title, fix } = useProblemWords(problem)
  return (
    <div className="problem" role="alert">
      <p className="problem-title">
        {!untitled && <strong>{title}</strong>}
        {problem.code.startsWith("E") && <code>{problem.code}</code>}
      </p>
      <dl>
        <dt>{t("problem.cause")}</dt>
        <dd>{problem.detail}</dd>
        {fix && <dt>{t("problem.fix")}</dt>}
        {fix && <dd>{ticked(fix)}</dd>}
      </dl>
      {(problem.errors?.length ?? 0) > 0 && <Faults faults={problem.errors ?? []} />}
      {again && (
        <button type="button" className="plain" onClick={again}>
          {t("problem.again")}
        </button>
      )}
    </div>
  )
}

function Faults({ faults }: { faults: NonNullable<Problem["errors"]> }) {
  const t = useWords("parts")
  const titleOf = useFaultTitle(true)
  const hintOf = useFaultHint(true)
  return (
    <ul aria-label={t("problem.faults")}>
      {faults.map((fault) => (
        <li key={`${fault.path}${fault.code}${fault.message}`}>
          <code>{fault.path}</code> {titleOf(fault.code)}
          {fault.message} <code>{fault.code}</code>
          {fault.line != null && <small> {t("problem.line", { line: fault.line, column: fault.column ?? 1 })}</small>}
          {fault.hint && <div>{hintOf(fault.hint)}</div>}
          {fault.snippet && <pre>{fault.snippet}</pre>}
        </li>
      ))}
    </ul>
  )
}

/** What stands between ticks is to be typed as it stands. */
export function ticked(text: string): React.ReactNode[] {
  return [...text.matchAll(/`([^`]+)`|[^`]+|`/g)].map((found) =>
    found[1] ? <code key={found.index}>{found[1]}</code> : found[0],
  )
}

/** What to call a problem, and what to do, in the chosen language; what it has no words for comes as the server says it. */
export function useProblemWords(problem: Problem): { title: string; fix: string | null | undefined } {
  const t = useWords("parts")
  const problems = useProblems(problem.code.startsWith("E"))
  if (problem.code === UNREACHABLE) return { title: t("problem.unreachable"), fix: t("problem.unreachable_fix") }
  if (problem.code === UNREADABLE) return { title: t("problem.unreadable"), fix: t("problem.unreadable_fix") }
  if (!problems) return { title: "", fix: undefined }
  const title = problems.entries[problem.code]?.title ?? problem.title
  return { title, fix: helpFor(problems, problem.code, problem.help) }
}

/** What a single fault is called where the server's own words are in another language; empty where they say it already. */
export function useFaultTitle(wanted: boolean): (code: string) => string {
  const t = useWords("parts")
  const problems = useProblems(wanted)
  return useCallback(
    (code) => {
      const title = problems?.entries[code]?.title
      return title ? t("problem.titled", { title }) : ""
    },
    [problems, t],
  )
}

/** What the server suggests for a single fault, in the chosen language where that is known. */
export function useFaultHint(wanted: boolean): (hint: string | null | undefined) => string | null | undefined {
  const problems = useProblems(wanted)
  return useCallback((hint) => (hint ? (problems?.hints[hint] ?? hint) : hint), [problems])
}
