import { expect, test } from "vitest"
import { changes } from "./changes"

test("fields are compared one by one", () => {
  const before = { limit: 3, quota: { jobs: 5 }, pools: ["a"] }
  const after = { limit: null, quota: { jobs: 5 }, name: "x" }
  expect(changes(before, after)).toEqual([
    { path: "limit", before: "3", after: "null" },
    { path: "name", before: undefined, after: "x" },
    { path: "pools", before: '["a"]', after: undefined },
    { path: "quota.jobs", before: "5", after: "5" },
  ])
  expect(changes(undefined, undefined)).toEqual([])
})
