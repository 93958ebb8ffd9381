import { expect, test } from "vitest"
import { explain } from "./explain"

const grant = (more: object) => ({
  id: 1,
  person: null,
  group: null,
  role: "ops",
  tenant: "acme",
  folder: null,
  labels: {},
  from_provider: false,
  created_at: "2026-11-16T00:00:00Z",
  created_by: "ada",
  ...more,
})
const roles = [{ name: "ops", built_in: false, permissions: ["job.run", "pool.see", "person.see"] }]
const ann = { name: "ann", groups: ["night"] }
const told = (grants: ReturnType<typeof grant>[]) =>
  explain(ann, grants, roles).map((reason) => `${reason.permission} ${reason.counts}`)

test("what somebody has comes from grants to them and to their groups", () => {
  const own = explain(ann, [grant({ person: "ann" }), grant({ group: "night" }), grant({ person: "bob" })], roles)
  expect(own.filter((reason) => reason.permission === "job.run")).toHaveLength(2)
})

test("what is the installation's needs a grant everywhere", () => {
  expect(told([grant({ person: "ann" })])).toEqual(["job.run yes", "pool.see yes", "person.see only_installation"])
  expect(told([grant({ person: "ann", tenant: null })])).toEqual(["job.run yes", "pool.see yes", "person.see yes"])
})

test("a grant for a folder speaks only of what lies in folders", () => {
  expect(told([grant({ person: "ann", tenant: null, folder: "etl" })])).toEqual([
    "job.run yes",
    "pool.see no_place",
    "person.see no_place",
  ])
})
