import { expect, test } from "vitest"
import { type Attempt, history } from "./way"

const at = (second: number) => `2026-11-18T00:00:${String(second).padStart(2, "0")}Z`
const attempt = (number: number, ordered: number, started: number | null, ended: number | null) =>
  ({
    number,
    ordered_at: at(ordered),
    started_at: started === null ? null : at(started),
    ended_at: ended === null ? null : at(ended),
  }) as Attempt

const told = (steps: ReturnType<typeof history>) =>
  steps.map((step) => `${step.at.slice(17, 19)} ${step.kind}${step.attempt ? ` ${step.attempt.number}` : ""}`)

test("each attempt has its times, and the waits between them are told", () => {
  const it = { planned_at: at(0), created_at: at(1), ended_at: at(9), retry_at: null, uncertain: null }
  // As the API lists them: the newest first.
  const steps = history(it, [attempt(2, 8, 8, 9), attempt(1, 1, 2, 3)])
  expect(told(steps)).toEqual([
    "00 planned",
    "01 created",
    "01 ordered 1",
    "02 started 1",
    "03 verdict 1",
    "03 waited",
    "08 ordered 2",
    "08 started 2",
    "09 verdict 2",
    "09 ended",
  ])
  expect(steps[5]?.until).toBe(at(8))
})

test("what is open tells since when nobody knows, and when it is tried next", () => {
  const it = { planned_at: at(0), created_at: at(0), ended_at: null, retry_at: at(50), uncertain: null }
  expect(told(history(it, [attempt(1, 1, null, 2)]))).toEqual([
    "00 planned",
    "00 created",
    "01 ordered 1",
    "02 verdict 1",
    "50 retry",
  ])
  const lost = { ...it, retry_at: null, uncertain: { since: at(7), why: "" } }
  expect(told(history(lost, [attempt(1, 1, 2, null)])).at(-1)).toBe("07 uncertain")
})
