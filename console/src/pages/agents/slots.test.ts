import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { slotsOf } from "./slots"

test("an executor has no bound, as the server counts it", () => {
  const told = /const SLOTS: u32 = ([\d_]+);/.exec(readFileSync("../crates/server/src/xxl/presence.rs", "utf8"))?.[1]
  expect(slotsOf(Number(told?.replaceAll("_", "")))).toBe("∞")
  expect(slotsOf(2_000_004)).toBe("∞")
  expect(slotsOf(16)).toBe("16")
})
