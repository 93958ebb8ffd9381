import { expect, test } from "vitest"
import type { Schemas } from "../../api/client"
import { scriptOf, scriptVersions, trialOf } from "./script"

const version = (number: number, source: string, retry: number) =>
  ({
    version: number,
    created_at: "",
    created_by: "",
    current: false,
    body: { job: "a", sh: source, retry },
  }) as Schemas["JobVersionView"]

test("only versions that changed the script are told", () => {
  const all = scriptVersions([version(4, "b", 2), version(3, "b", 1), version(1, "a", 1)], "sh")
  expect(all.map((one) => one.version)).toEqual([3, 1])
})

test("a trial never runs by itself", () => {
  expect(trialOf({ job: "a", cron: "x", retry: 3, sh: "echo", pool: "p" }, "a", "d")).toEqual({
    job: "a.try",
    description: "d",
    manual: true,
    mode: "enabled",
    sh: "echo",
    pool: "p",
  })
  expect(scriptOf({ http: "x" })).toBeUndefined()
})
