import { expect, test } from "vitest"
import { holds } from "./may"

const right = (more: Partial<Parameters<typeof holds>[0]> = {}) => ({
  tenant: "acme",
  folder: null,
  labels: {},
  permissions: ["job.run"],
  ...more,
})

test("a right is for its tenant, its folder and its labels", () => {
  expect(holds(right(), "job.run", "acme")).toBe(true)
  expect(holds(right(), "job.edit", "acme")).toBe(false)
  expect(holds(right(), "job.run", "other")).toBe(false)
  expect(holds(right({ tenant: null }), "job.run", "other")).toBe(true)
  const etl = right({ folder: "etl" })
  expect(holds(etl, "job.run", "acme", { folder: "etl/daily" })).toBe(true)
  expect(holds(etl, "job.run", "acme", { folder: "etl" })).toBe(true)
  expect(holds(etl, "job.run", "acme", { folder: "etlx" })).toBe(false)
  expect(holds(etl, "job.run", "acme", { folder: "" })).toBe(false)
  const team = right({ labels: { team: "a" } })
  expect(holds(team, "job.run", "acme", { labels: { team: "a", x: "y" } })).toBe(true)
  expect(holds(team, "job.run", "acme", { labels: {} })).toBe(false)
})

test("rights in one tenant say nothing about the installation", () => {
  expect(holds(right({ permissions: ["person.see"] }), "person.see", "acme")).toBe(false)
  expect(holds(right({ tenant: null, permissions: ["person.see"] }), "person.see", "acme")).toBe(true)
})

test("without a place it is enough to hold it somewhere in the tenant", () => {
  expect(holds(right({ folder: "etl" }), "job.run", "acme")).toBe(true)
})
