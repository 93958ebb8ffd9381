// Does one thing to many instances, a few at a time: tells how far it is, counts what was done, and answers what was not. Never
// gives up because of one of them.
import { api } from "../../api/client"
import { asProblem } from "../../api/problem"
import { done } from "../../parts/Act"
import { isOpen } from "../../parts/StateTag"
import type { Instance } from "./InstanceRows"

export type Verb = "stop" | "rerun" | "replay"
/** Without a reason: the server passed it over, it was no dead letter any more. */
export type Refused = { id: number; why?: string; code?: string }
export type Outcome = { done: number; refused: Refused[] }
type Row = Pick<Instance, "id" | "state" | "stopping">
type Ask = (ids: number[]) => Promise<{ replayed: number[]; refused: { id: number; why: string }[] }>

/** The server takes no more at once unless it is told. */
export const REPLAY_MAX = 100
/** Browsers give a site six connections, and the page wants some for itself. */
const AT_ONCE = 4

/** What each verb can be done to. */
export function fits(verb: Verb, row: Pick<Row, "state" | "stopping">): boolean {
  if (verb === "stop") return isOpen(row.state) && row.stopping == null
  return verb === "replay" ? row.state === "dead" : !isOpen(row.state)
}

export function carryOut(verb: Verb, ids: number[], progress: (at: number) => void): Promise<Outcome> {
  if (verb === "replay") return replay(ids, progress, askToReplay)
  return one(verb, ids, progress)
}

const askToReplay: Ask = (ids) => done(api.POST("/api/v1/instances/replay", { body: { ids, limit: ids.length } }))

export async function replay(ids: number[], progress: (at: number) => void, ask: Ask): Promise<Outcome> {
  const outcome: Outcome = { done: 0, refused: [] }
  for (const some of parts(ids, REPLAY_MAX)) {
    try {
      const told = await ask(some)
      const known = new Set([...told.replayed, ...told.refused.map((refused) => refused.id)])
      outcome.done += told.replayed.length
      outcome.refused.push(...told.refused, ...some.filter((id) => !known.has(id)).map((id) => ({ id })))
    } catch (error) {
      outcome.refused.push(...some.map((id) => because(id, error)))
    }
    progress(outcome.done + outcome.refused.length)
  }
  return outcome
}

async function one(verb: "stop" | "rerun", ids: number[], progress: (at: number) => void): Promise<Outcome> {
  const outcome: Outcome = { done: 0, refused: [] }
  const ask = async (id: number) => {
    const params = { path: { id } }
    try {
      if (verb === "stop") await done(api.POST("/api/v1/instances/{id}/stop", { params }))
      else await done(api.POST("/api/v1/instances/{id}/rerun", { params }))
      outcome.done += 1
    } catch (error) {
      outcome.refused.push(because(id, error))
    }
    progress(outcome.done + outcome.refused.length)
  }
  for (const some of parts(ids, AT_ONCE)) await Promise.all(some.map(ask))
  return outcome
}

function because(id: number, error: unknown): Refused {
  const problem = asProblem(error)
  return { id, why: problem.detail, code: problem.code }
}

function parts<Item>(of: Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(of.length / size) }, (_, at) => of.slice(at * size, (at + 1) * size))
}
