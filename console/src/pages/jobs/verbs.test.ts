import { expect, test } from "vitest"
import { verbsOf } from "./JobActions"

test("a job is offered what its mode allows", () => {
  expect(verbsOf("enabled")).toEqual(["pause", "disable"])
  expect(verbsOf("paused")).toEqual(["resume", "disable"])
  expect(verbsOf("disabled")).toEqual(["enable"])
  expect((["enabled", "paused", "disabled"] as const).map((mode) => verbsOf(mode, true))).toEqual([
    ["disable"],
    ["resume"],
    ["enable"],
  ])
})
