import { QueryClient } from "@tanstack/react-query"
import { expect, test } from "vitest"
import { showChanged } from "./shown"

test("a change is shown in lists and on pages, and taken back when it is refused", () => {
  const queries = new QueryClient()
  const list = ["get", "/api/v1/jobs", { params: {} }]
  const page = ["get", "/api/v1/jobs/{name}", { params: { path: { name: "a" } } }]
  const other = ["get", "/api/v1/jobs/{name}/why"]
  queries.setQueryData(list, {
    items: [
      { name: "a", mode: "enabled" },
      { name: "b", mode: "enabled" },
    ],
    next: null,
  })
  queries.setQueryData(page, { name: "a", mode: "enabled" })
  queries.setQueryData(other, { name: "a", mode: "enabled" })
  const back = showChanged(queries, "jobs", (job) => job.name === "a", { mode: "paused" })
  const modes = () => (queries.getQueryData(list) as { items: { mode: string }[] }).items.map((job) => job.mode)
  expect(modes()).toEqual(["paused", "enabled"])
  expect(queries.getQueryData(page)).toEqual({ name: "a", mode: "paused" })
  expect(queries.getQueryData(other)).toEqual({ name: "a", mode: "enabled" })
  back()
  expect(modes()).toEqual(["enabled", "enabled"])
  expect(queries.getQueryData(page)).toEqual({ name: "a", mode: "enabled" })
})
