import { expect, test } from "vitest"
import { buckets, hourMarks, remembered, spark, told } from "./figures"

test("the present hour is the last bucket, and borders do not move within it", () => {
  const at = (iso: string) => buckets(Date.parse(iso), 2, 3_600_000)
  expect(at("2026-11-16T10:20:00Z")).toEqual([
    { from: "2026-11-16T09:00:00.000Z", to: "2026-11-16T10:00:00.000Z" },
    { from: "2026-11-16T10:00:00.000Z", to: "2026-11-16T11:00:00.000Z" },
  ])
  expect(at("2026-11-16T10:59:00Z")).toEqual(at("2026-11-16T10:20:00Z"))
})

test("every instance is counted once", () => {
  expect(told({ succeeded: 3, warned: 1, failed: 1, dead: 1, skipped: 2, running: 1 })).toEqual({
    good: 4,
    bad: 2,
    other: 3,
  })
})

test("samples of the same seconds are one, and old ones are forgotten", () => {
  const sample = (at: number, ended: number) => ({ at, ended, delay: 0 })
  let kept = remembered([], sample(0, 1))
  kept = remembered(kept, sample(2_000, 2))
  expect(kept).toEqual([sample(0, 2)])
  kept = remembered(kept, sample(6_000, 3))
  expect(kept).toEqual([sample(0, 2), sample(6_000, 3)])
  expect(remembered(kept, sample(1_803_000, 4))).toEqual([sample(6_000, 3), sample(1_803_000, 4)])
})

test("the largest value is at the top of a line", () => {
  expect(spark([0, 5, 10])).toBe("0.0,19.0 50.0,10.0 100.0,1.0")
  expect(spark([0, 0])).toBe("0.0,19.0 100.0,19.0")
})

test("full hours are marked, not too many", () => {
  const from = Date.parse("2026-11-16T10:20:00Z")
  const hours = (span: number) =>
    hourMarks(from, span * 3_600_000).map((at) => new Date(at).toISOString().slice(11, 16))
  expect(hours(3)).toEqual(["11:00", "12:00", "13:00"])
  expect(hours(24).length).toBeLessThanOrEqual(6)
})
