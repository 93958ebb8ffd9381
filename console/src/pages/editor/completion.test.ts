import { expect, test } from "vitest"
import { type Described, pathAt, schemasAt } from "./completion"

const described: Described = {
  components: {
    schemas: {
      JobBody: { properties: { pool: { oneOf: [{ $ref: "#/components/schemas/Pool" }, { type: "null" }] } } },
      Pool: { oneOf: [{ type: "string" }, { properties: { route: { enum: ["first", "last"] } } }] },
    },
  },
}

test("a place is known by the keys around it", () => {
  expect(pathAt(["job: a", "pool:", "  name: x"], 2)).toEqual(["pool"])
  expect(pathAt(["job: a", "pool:", "  labels:", "    a: b"], 4)).toEqual(["pool", "labels"])
  expect(pathAt(["job: a", "pool:"], 0)).toEqual([])
})

test("references and choices are followed", () => {
  const keys = schemasAt(described, ["pool"]).flatMap((one) => Object.keys(one.properties ?? {}))
  expect(keys).toEqual(["route"])
  expect(schemasAt(described, ["pool", "route"]).flatMap((one) => one.enum ?? [])).toEqual(["first", "last"])
})
