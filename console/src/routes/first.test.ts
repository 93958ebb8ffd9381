import { beforeEach, expect, test } from "vitest"
import { memory, WHOAMI } from "../shell/memory"
import { first } from "./first"

let asked = 0
let answer: (value: string) => void = () => undefined
const route = first((search: { state?: string }) => ({
  queryKey: ["list", search.state],
  queryFn: () => {
    asked += 1
    return new Promise<string>((done) => {
      answer = done
    })
  },
}))

/** Whether the page may be shown, as soon as everything else has had its turn. */
async function entered(cause: "preload" | "enter" | "stay", state: string) {
  let there = false
  const deps = route.loaderDeps({ search: { state } })
  const loaded = route.loader({ cause, deps, params: {}, location: { search: {} } }).then(() => {
    there = true
  })
  await new Promise((turn) => setTimeout(turn))
  return { there, loaded }
}

beforeEach(() => {
  asked = 0
  memory(undefined).clear()
  memory(undefined).setQueryData(WHOAMI, {} as never)
})

test("a page that is entered waits for what it shows first, and asks once", async () => {
  const { there, loaded } = await entered("enter", "failed")
  expect([there, asked]).toEqual([false, 1])
  answer("rows")
  await loaded
  expect(memory(undefined).getQueryData(["list", "failed"])).toBe("rows")
})

test("nobody waits for what was answered before, nor while typing in a filter", async () => {
  memory(undefined).setQueryData(["list", "failed"], "old rows", { updatedAt: 1 })
  expect(await entered("enter", "failed")).toMatchObject({ there: true })
  expect(await entered("stay", "dead")).toMatchObject({ there: true })
  expect(asked).toBe(2)
})

test("reaching for a link asks nothing, and neither does whoever is not signed in", async () => {
  await entered("preload", "failed")
  memory(undefined).clear()
  await entered("enter", "failed")
  expect(asked).toBe(0)
})
