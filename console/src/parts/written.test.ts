import { expect, test } from "vitest"
import { boundIn, labelsIn, labelsOut, wordsIn } from "./written"

test("lists and labels are read as people write them", () => {
  expect(wordsIn(" etl, night，a  ")).toEqual(["etl", "night", "a"])
  expect(wordsIn("")).toEqual([])
  expect(labelsIn("team=a, disk=s=d")).toEqual({ team: "a", disk: "s=d" })
  expect(labelsOut({ team: "a", disk: "ssd" })).toBe("team=a, disk=ssd")
  expect(boundIn(" ")).toBe(null)
  expect(boundIn("0")).toBe(0)
})
