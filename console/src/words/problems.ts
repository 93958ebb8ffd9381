// What the server's problems are called in the chosen language, loaded when the first one is shown. The server itself speaks
// English; what a table does not know is told as the server told it.
import { useEffect, useState } from "react"
import { type Language, useLanguage } from "."

/** By code: what it is called, what to do about it. */
export type Entries = Record<string, { title: string; help: string }>
/** By id: what `harden` found, what to do about it. */
export type Findings = Record<string, { what: string; fix: string }>
/** By the server's own words: what it suggests for a single fault. */
export type Hints = Record<string, string>
export type Problems = {
  entries: Entries
  advice: [says: RegExp, words: string][]
  hints: Hints
  findings: Findings
}

const ITSELF: Problems = { entries: {}, advice: [], hints: {}, findings: {} }
const load: Record<Language, (() => Promise<{ default: Problems }>) | undefined> = {
  en: undefined,
  zh: () => import("./zh/problems"),
}
const loaded: Partial<Record<Language, Problems>> = { en: ITSELF }
let asking = 0

/** A table that cannot be had is no reason to load the page anew: what was typed would be lost, and the problem with it. */
export function isAskingForProblems(): boolean {
  return asking > 0
}

/** Undefined while it is under way, so that nothing is told in one language first and then in another. */
export function useProblems(wanted = true): Problems | undefined {
  const language = useLanguage()
  const [failed, setFailed] = useState<Language>()
  const [, setArrived] = useState<Language>()
  useEffect(() => {
    if (!wanted || loaded[language]) return
    let gone = false
    problemsIn(language).then(
      () => gone || setArrived(language),
      () => gone || setFailed(language),
    )
    return () => {
      gone = true
    }
  }, [language, wanted])
  return loaded[language] ?? (failed === language ? ITSELF : undefined)
}

export async function problemsIn(language: Language): Promise<Problems> {
  asking += 1
  try {
    const table = loaded[language] ?? (await load[language]?.())?.default ?? ITSELF
    loaded[language] = table
    return table
  } finally {
    asking -= 1
  }
}

/** What to do: what the server says for this one occurrence is worth more than what its code always says. */
export function helpFor(problems: Problems, code: string, said: string | null | undefined): string | null | undefined {
  for (const [says, words] of problems.advice) {
    if (said && says.test(said)) return said.replace(says, words)
  }
  return problems.entries[code]?.help ?? said
}
