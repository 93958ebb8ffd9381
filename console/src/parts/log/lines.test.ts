import { expect, test } from "vitest"
import { firstError, hits, LINES_MAX, Lines } from "./lines"

const frame = (text: string, stream: "stdout" | "stderr" = "stdout") => ({
  at: "2026-11-16T00:00:00.000000Z",
  stream,
  text,
})
const shown = (...frames: ReturnType<typeof frame>[]) => {
  const lines = new Lines()
  for (const one of frames) lines.push(one)
  return lines.all.map((line) => line.text)
}

test("lines come in any pieces", () => {
  expect(shown(frame("a\nb"), frame("c\n"), frame("d\n\ne\n"))).toEqual(["a", "bc", "d", "", "e"])
})

test("streams do not tear each other's lines", () => {
  expect(shown(frame("out "), frame("err\n", "stderr"), frame("put\n"))).toEqual(["out put", "err"])
})

test("a progress bar is one line", () => {
  expect(shown(frame("10%\r"), frame("\r50%\r100%\nwindows\r\n"))).toEqual(["100%", "windows"])
})

test("bytes that are no text are shown as well as can be", () => {
  const lines = new Lines()
  lines.push({ at: "2026-11-16T00:00:00.000000Z", stream: "stdout", bytes: btoa("caf\xe9\n") })
  expect(lines.all[0]?.text).toBe("caf\ufffd")
})

test("an error and a word are found", () => {
  const lines = new Lines()
  for (const one of [frame("all well\n"), frame("warning\n", "stderr"), frame("ValueError: no\nfatal: yes\n")])
    lines.push(one)
  expect(firstError(lines.all)).toBe(3)
  expect(firstError(lines.all.slice(0, 2))).toBe(1)
  expect(hits(lines.all, "WAR")).toEqual([1])
})

test("no more than a bound is held", () => {
  const lines = new Lines()
  for (let n = 0; n < 40; n++) lines.push(frame("x\n".repeat(10_000)))
  expect(lines.all.length).toBeLessThanOrEqual(LINES_MAX * 1.1)
  expect(lines.all.length + lines.dropped).toBe(400_000)
})
