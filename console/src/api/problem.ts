// What the server says when something cannot be done, as a type; never shows it.
import type { components } from "./schema.gen"

export type Problem = components["schemas"]["Problem"]

/** Codes of our own, for what never reached the server or was not answered by it. */
export const UNREACHABLE = "unreachable"
export const UNREADABLE = "unreadable"
/** Codes of the server that the gate goes by: nobody is signed in, nobody has set it up. */
export const NOT_SIGNED_IN = "E0601"
export const SETUP_NEEDED = "E0604"
/** And that a filter goes by: there is no such job. */
export const NO_JOB = "E0301"

export function asProblem(error: unknown): Problem {
  if (isProblem(error)) return error
  const detail = error instanceof Error ? error.message : String(error)
  return made(UNREADABLE, detail, 500)
}

export function isProblem(error: unknown): error is Problem {
  return typeof error === "object" && error !== null && "code" in error && "detail" in error
}

export function made(code: string, detail: string, status: number): Problem {
  return { type: `urn:duly:console:${code}`, title: code, status, detail, code }
}
