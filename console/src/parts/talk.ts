// How a page speaks beside itself: a short word when something was done, a problem, a pop-up that leads somewhere, a
// question before something that cannot be undone.
import { asProblem, type Problem } from "../api/problem"

export type Popup = { key: string; title: string; text?: string; link?: { to: string; words: string } }
export type Question = { title: string; text?: string; yes: string; danger?: boolean }
/** What was done, and the way back. */
export type Undoable = { text: string; undo: () => Promise<void> }
export type Said =
  | { kind: "done"; text: string; undo?: () => Promise<void> }
  | { kind: "problem"; problem: Problem }
  | { kind: "popup"; popup: Popup }
  | { kind: "ask"; question: Question; answer: (yes: boolean) => void }

let listener: ((said: Said) => void) | undefined
let waiting: Said[] = []

export const talk = {
  done: (told: string | Undoable) => say({ kind: "done", ...(typeof told === "string" ? { text: told } : told) }),
  problem: (error: unknown) => say({ kind: "problem", problem: asProblem(error) }),
  popup: (popup: Popup) => say({ kind: "popup", popup }),
  ask: (question: Question) => new Promise<boolean>((answer) => say({ kind: "ask", question, answer })),
}

/** Whoever shows what is said; what was said before is told first. */
export function listen(to: (said: Said) => void): () => void {
  listener = to
  for (const said of waiting.splice(0)) to(said)
  return () => {
    listener = undefined
  }
}

function say(said: Said) {
  if (listener) return listener(said)
  waiting = [...waiting.slice(-20), said]
}
