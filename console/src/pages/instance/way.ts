// The way of an instance from state to state, told by what is known of it and of each of its attempts.
import type { Schemas } from "../../api/client"
import type { Instance } from "../instances/InstanceRows"

export type Attempt = Schemas["AttemptView"]
export type Step = {
  kind: "planned" | "created" | "ordered" | "started" | "verdict" | "waited" | "uncertain" | "retry" | "ended"
  at: string
  attempt?: Attempt
  /** Of a wait: until when. */
  until?: string
}

type Known = Pick<Instance, "planned_at" | "created_at" | "ended_at" | "retry_at" | "uncertain">

export function history(it: Known, attempts: Attempt[]): Step[] {
  const inOrder = [...attempts].sort((a, b) => a.number - b.number)
  const steps: (Step | undefined)[] = [
    { kind: "planned", at: it.planned_at },
    { kind: "created", at: it.created_at },
    ...inOrder.flatMap((attempt, index) => ofAttempt(attempt, inOrder[index + 1])),
    it.uncertain ? { kind: "uncertain", at: it.uncertain.since } : undefined,
    it.retry_at ? { kind: "retry", at: it.retry_at } : undefined,
    it.ended_at ? { kind: "ended", at: it.ended_at } : undefined,
  ]
  const known = steps.filter((step) => step !== undefined)
  // What happened in the same instant stays in the order it is told in.
  return known.sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
}

function ofAttempt(attempt: Attempt, next: Attempt | undefined): (Step | undefined)[] {
  const { ordered_at: ordered, started_at: started, ended_at: ended } = attempt
  return [
    ordered ? { kind: "ordered", at: ordered, attempt } : undefined,
    started ? { kind: "started", at: started, attempt } : undefined,
    ended ? { kind: "verdict", at: ended, attempt } : undefined,
    ended && next?.ordered_at ? { kind: "waited", at: ended, until: next.ordered_at } : undefined,
  ]
}
