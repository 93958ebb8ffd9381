// The state of an instance as a word with a colour and a shape: colour alone tells nothing to many people.

import type { Schemas } from "../api/client"
import { useWords } from "./words"

export type State = Schemas["StateWord"]
type Tone = "good" | "bad" | "warn" | "busy" | "calm"

export const STATES: readonly State[] = [
  "scheduled",
  "ready",
  "dispatched",
  "running",
  "retry_wait",
  "succeeded",
  "warned",
  "failed",
  "dead",
  "skipped",
  "stopped",
  "forced",
]

const tones: Record<State, Tone> = {
  scheduled: "calm",
  ready: "busy",
  dispatched: "busy",
  running: "busy",
  retry_wait: "warn",
  succeeded: "good",
  warned: "warn",
  failed: "bad",
  dead: "bad",
  skipped: "calm",
  stopped: "calm",
  forced: "calm",
}

const marks: Record<Tone, string> = { good: "✓", bad: "✕", warn: "!", busy: "▸", calm: "·" }

export function isOpen(state: State): boolean {
  return ["scheduled", "ready", "dispatched", "running", "retry_wait"].includes(state)
}

export function toneOf(state: State): Tone {
  return tones[state]
}

export function StateTag({ state }: { state: State }) {
  const t = useWords("parts")
  return (
    <Tag tone={tones[state]} hint={t(`state_hint.${state}`)}>
      {t(`state.${state}`)}
    </Tag>
  )
}

export function Tag({ tone, hint, children }: { tone: Tone; hint?: string; children: React.ReactNode }) {
  return (
    <span className={`tag tag-${tone}`} title={hint}>
      <span aria-hidden="true">{marks[tone]}</span>
      {children}
    </span>
  )
}
