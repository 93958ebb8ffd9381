// Both languages say everything, with the same blanks to fill in.
import { expect, test } from "vitest"
import en from "./en"
import zh from "./zh"

type Tree = { [key: string]: string | Tree }

function flat(tree: Tree, path = ""): Record<string, string> {
  return Object.entries(tree).reduce<Record<string, string>>((all, [key, value]) => {
    const here = path ? `${path}.${key}` : key
    return typeof value === "string" ? Object.assign(all, { [here]: value }) : Object.assign(all, flat(value, here))
  }, {})
}

const blanks = (text: string) => [...text.matchAll(/\{\{(\w+)\}\}/g)].map((found) => found[1]).sort()

test("the languages have the same keys", () => {
  expect(Object.keys(flat(zh)).sort()).toEqual(Object.keys(flat(en)).sort())
})

test("no word is empty, and the same blanks are in both", () => {
  const other = flat(zh)
  for (const [key, text] of Object.entries(flat(en))) {
    expect(text.trim(), key).not.toBe("")
    expect(other[key]?.trim(), key).not.toBe("")
    expect(blanks(other[key] ?? ""), key).toEqual(blanks(text))
  }
})

test("Chinese is Chinese", () => {
  const same = Object.entries(flat(zh)).filter(([key, text]) => /[A-Za-z]{4,}/.test(text) && text === flat(en)[key])
  expect(same).toEqual([])
})
