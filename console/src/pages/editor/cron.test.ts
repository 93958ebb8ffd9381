import { expect, test } from "vitest"
import { type Often, readCron, writeCron } from "./cron"

const all: Often[] = [
  { kind: "minutes", every: 5 },
  { kind: "hourly", minute: 7 },
  { kind: "daily", hour: 3, minute: 30 },
  { kind: "weekly", day: 0, hour: 3, minute: 30 },
  { kind: "monthly", day: 15, hour: 0, minute: 5 },
]

test("what the builder writes it reads again, in both dialects", () => {
  for (const often of all)
    for (const unix of [false, true]) expect(readCron(writeCron(often, unix), unix)).toEqual(often)
})

test("what it cannot ask about is somebody's own", () => {
  for (const expr of ["", "0 30 2 ? * MON-FRI", "*/5 * * * * ?", "0 0 3 L * ?", "0 0 3 * * ? 2027"])
    expect(readCron(expr, false), expr).toEqual({ kind: "own" })
})
