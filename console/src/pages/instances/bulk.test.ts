import { expect, test } from "vitest"
import { fate } from "./Bulk"
import { fits, REPLAY_MAX, replay } from "./carry"
import type { Instance } from "./InstanceRows"
import { everything, PICKED_MAX, toggled, toggledAll } from "./pick"

const row = (id: number) => ({ id, state: "dead" }) as Instance
const some = (count: number, from = 1) => Array.from({ length: count }, (_, at) => from + at)

test("each verb is for the states it makes sense in", () => {
  const of = (state: "running" | "failed" | "dead") =>
    (["stop", "rerun", "replay"] as const).filter((verb) => fits(verb, { state, stopping: null }))
  expect(of("running")).toEqual(["stop"])
  expect(of("failed")).toEqual(["rerun"])
  expect(of("dead")).toEqual(["rerun", "replay"])
  expect(fits("stop", { state: "running", stopping: { by: "ann" } })).toBe(false)
})

test("what becomes of each is told by its state", () => {
  expect(fate("stop", { state: "running" })).toBe("ends")
  expect(fate("stop", { state: "retry_wait" })).toBe("never")
  expect(fate("rerun", { state: "dead" })).toBe("again")
  expect(fate("replay", { state: "dead" })).toBe("anew")
})

test("more than the server takes at once is replayed in parts, and only what was replayed is counted", async () => {
  const asked: number[] = []
  const told: number[] = []
  const outcome = await replay(
    some(250),
    (at) => told.push(at),
    async (ids) => {
      asked.push(ids.length)
      if (ids.includes(201)) throw { code: "E0701", detail: "the store cannot write now" }
      // One is refused, one was replayed by somebody else meanwhile.
      return { replayed: ids.slice(2), refused: [{ id: ids[0] ?? 0, why: "disabled" }] }
    },
  )
  expect(asked).toEqual([REPLAY_MAX, REPLAY_MAX, 50])
  expect(told).toEqual([100, 200, 250])
  expect(outcome.done).toBe(196)
  expect(outcome.refused.slice(0, 2)).toEqual([{ id: 1, why: "disabled" }, { id: 2 }])
  expect(outcome.refused.length).toBe(54)
  expect(outcome.refused.at(-1)).toEqual({ id: 250, why: "the store cannot write now", code: "E0701" })
})

test("picking a page leaves what was picked on others", () => {
  const first = toggledAll(new Map(), [row(1), row(2)])
  const both = toggledAll(first, [row(3), row(4)])
  expect([...both.keys()]).toEqual([1, 2, 3, 4])
  expect([...toggledAll(both, [row(3), row(4)]).keys()]).toEqual([1, 2])
  expect([...toggled(both, row(1)).keys()]).toEqual([2, 3, 4])
})

test("everything that matches is picked page by page, up to a bound that is told", async () => {
  const look = (all: number) => async (query: { cursor?: string; limit?: number }) => {
    const from = Number(query.cursor ?? 1)
    const items = some(Math.min(query.limit ?? 0, all - from + 1), from).map(row)
    const next = from + items.length
    return { items, next: next <= all ? String(next) : null }
  }
  const few = await everything({ job: "a" }, look(230))
  expect([few.rows.length, few.more]).toEqual([230, false])
  const many = await everything({ job: "a" }, look(700))
  expect([many.rows.length, many.more, many.rows.at(-1)?.id]).toEqual([PICKED_MAX, true, PICKED_MAX])
})
