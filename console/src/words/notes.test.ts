// Every note the server writes beside planned times is told in Chinese, too.
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { told } from "./notes"
import zh from "./zh/notes"

test("every note has Chinese", () => {
  const source = readFileSync("../crates/server/src/ops/preview.rs", "utf8")
  const fixed = [...source.matchAll(/notes\s*\.push\(\s*"([^"]+)"/g)].map((found) => found[1] ?? "")
  const named = [...source.matchAll(/format!\("((?:each|it) [^"]+)"/g)].map((found) => found[1] ?? "")
  const ends = [...source.matchAll(/"(it[^"]* when [^"]*ends?)"/g)].map((found) => found[1] ?? "")
  expect([fixed.length, named.length, ends.length]).toEqual([3, 3, 2])
  const notes = [...fixed, ...named].flatMap((note) =>
    note.endsWith("{what}") ? ends.map((end) => note.replace("{what}", end)) : [note],
  )
  for (const note of notes) {
    const said = note.replace(/\{[^}]*\}/, "5m")
    expect(told(said, zh), said).toMatch(/^[^a-z]*(5m)?[^a-z]*$/)
  }
})

test("several notes are one sentence, and what nobody knows stays as it is", () => {
  const two = "it runs only when it is triggered; something new"
  expect(told(two, zh)).toBe("只在被触发时运行；something new")
  expect(told(two, [])).toBe(two)
})
