import { expect, test } from "vitest"
import { bodyOf, hasBegun, keyAt, longOf, mapIn, put, swap } from "./draft"

test("what a form does not know stays, comments too", () => {
  const text = "# mine\njob: a\nfuture: { x: 1 } # keep\ncron: 0 0 5 * * ?\nsh: echo\n"
  const changed = put(text, ["cron", "zone"], "Asia/Shanghai")
  expect(changed).toContain("# mine")
  expect(changed).toContain("future: { x: 1 } # keep")
  expect(bodyOf(changed)?.cron).toEqual({ expr: "0 0 5 * * ?", zone: "Asia/Shanghai" })
  expect(put(changed, ["cron", "zone"], undefined)).toBe(text)
})

test("a long form that says one thing is short", () => {
  expect(put("job: a\nretry: { times: 2, delay: 5s }\n", ["retry", "delay"], undefined)).toBe("job: a\nretry: 2\n")
  expect(put("job: a\n", ["pool", "route"], "random")).toContain("route: random")
  expect(put("job: a\npool:\n  route: random\n", ["pool", "route"], undefined)).toBe("job: a\n")
})

test("one trigger takes the place of another", () => {
  const body = bodyOf(swap("job: a\ncron: x\nsh: echo\n", ["cron", "every", "manual"], "every", "30s"))
  expect(body).toEqual({ job: "a", every: "30s", sh: "echo" })
})

test("a script keeps its lines", () => {
  const text = put("job: a\nsh: echo\n", ["sh"], "echo 1\necho 2\n")
  expect(text).toBe("job: a\nsh: |\n  echo 1\n  echo 2\n")
})

test("short and long say the same", () => {
  expect(longOf({ sh: "echo" }, "sh")).toEqual({ source: "echo" })
  expect(longOf({ sh: { source: "echo", args: [] } }, "sh")).toEqual({ source: "echo", args: [] })
  expect(longOf({}, "sh")).toEqual({})
})

test("a fault is found at its key", () => {
  expect(keyAt("job: a\nretry:\n  delay: x\n", 3)).toBe("retry")
  expect(keyAt("", 1)).toBeUndefined()
})

test("text that is no job has no values", () => {
  expect(bodyOf("job: [")).toBeUndefined()
  expect(bodyOf("just words")).toBeUndefined()
  expect(mapIn("a: 1\nb: two")).toEqual({ a: 1, b: "two" })
})

test("a job has begun when it has a name and a task", () => {
  expect(hasBegun('job: ""\nsh: echo\n')).toBe(false)
  expect(hasBegun('job: " "\nsh: echo\n')).toBe(false)
  expect(hasBegun("job: a\nmanual: true\n")).toBe(false)
  expect(hasBegun("job: a\nnoop: true\n")).toBe(true)
  expect(hasBegun("job: [\n")).toBe(true)
})
