import { expect, test } from "vitest"
import { fromLocal, inZone, length, toLocal } from "./time"

test("an instant is the same in every zone, and comes back", () => {
  const at = "2026-11-16T13:41:15.000Z"
  expect(inZone(new Date(at), "Asia/Shanghai")).toBe("2026-11-16 21:41:15")
  for (const zone of ["UTC", "Asia/Shanghai", "America/New_York", "Australia/Lord_Howe"]) {
    expect(fromLocal(toLocal(at, zone), zone)).toBe(at)
  }
})

test("around a change of the clocks", () => {
  expect(fromLocal("2026-03-08T01:59:00", "America/New_York")).toBe("2026-03-08T06:59:00.000Z")
  expect(fromLocal("2026-03-08T03:00:00", "America/New_York")).toBe("2026-03-08T07:00:00.000Z")
})

test("what cannot be read is nothing", () => {
  expect(toLocal("nonsense", "UTC")).toBe("")
  expect(fromLocal("", "UTC")).toBeUndefined()
})

test("lengths are short", () => {
  expect([310, 4200, 42_000, 63_000, 3_780_000, 90_000_000].map(length)).toEqual([
    "310 ms",
    "4.2 s",
    "42 s",
    "1 m 03 s",
    "1 h 03 m",
    "1 d 01 h",
  ])
})
