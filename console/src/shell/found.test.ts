import { expect, test } from "vitest"
import { adminRoutes } from "../routes/admin"
import { designerRoutes } from "../routes/designer"
import { monitorRoutes } from "../routes/monitor"
import { best, type Found } from "./found"
import { PLACES } from "./places"

const page = (words: string): Found => ({ key: words, kind: "page", words, to: `/${words}` })

test("what begins with the letters stands before what only has them", () => {
  const all = ["Non-audited", "Audit", "audit-export", "Jobs"].map(page)
  expect(best(all, "audit").map((one) => one.words)).toEqual(["Audit", "audit-export", "Non-audited"])
})

test("every page that needs no name of a thing can be found", () => {
  const routes = [...monitorRoutes, ...designerRoutes, ...adminRoutes].map((route) =>
    String((route.options as { path?: string }).path),
  )
  const places = PLACES.map((place) => String(place.to))
  expect(places.toSorted()).toEqual(routes.filter((path) => !path.includes("$")).toSorted())
})
