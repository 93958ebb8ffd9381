// Every reason the server gives is told in Chinese, too, and none that it does not give.
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { STATES } from "../parts/StateTag"
import { keyOf } from "./why"
import zh from "./zh/why"

const source = (path: string) => readFileSync(`../crates/${path}`, "utf8")
const words = (text: string, shape: RegExp) => [...text.matchAll(shape)].map((found) => found[1] ?? "")

test("every kind of reason has Chinese, and no other", () => {
  const open = words(source("wire/src/api/why.rs"), /Why::\w+(?: \{ \.\. \})? => "(\w+)"/g)
  const own = words(source("server/src/ops/why.rs"), /kind: "(\w+)"/g)
  const ended = words(source("server/src/ops/instances.rs"), /(?:Failure|SkipReason)::\w+ => "(\w+)"/g)
  const states = STATES.filter((state) => !/scheduled|ready|dispatched|retry_wait/.test(state))
  expect(open.length).toBeGreaterThan(30)
  expect(own.length).toBeGreaterThan(1)
  expect(ended.length).toBeGreaterThan(5)
  expect(Object.keys(zh).sort()).toEqual([...new Set([...open, ...own, ...ended, ...states])].sort())
})

test("they are whole sentences, and who did something is not a kind of its own", () => {
  for (const [kind, sentence] of Object.entries(zh)) expect(sentence, kind).toMatch(/\p{Script=Han}.*。$/u)
  expect(zh[keyOf("stopped by ada")]).toBe(zh.stopped)
})
