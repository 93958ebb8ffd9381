import { expect, test } from "vitest"
import { foldersOf, wayTo } from "./folders"

test("folders are known with those above them, each once", () => {
  expect(foldersOf(["billing/nightly", "", "billing", "a/b/c"])).toEqual([
    "a",
    "a/b",
    "a/b/c",
    "billing",
    "billing/nightly",
  ])
  expect(wayTo("a/b")).toEqual([
    { name: "a", path: "a" },
    { name: "b", path: "a/b" },
  ])
})
