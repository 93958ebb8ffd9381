import { act, renderHook } from "@testing-library/react"
import i18next from "i18next"
import { beforeAll, expect, test } from "vitest"
import { begin, speak } from "../words"
import { useWords } from "./words"

beforeAll(() => begin("en"))

test("words are those of i18next: plain, with values, and counted", () => {
  const words = renderHook(() => useWords("parts")).result.current
  const said = i18next.getFixedT(null, "parts")
  for (const _ of [1, 2]) {
    expect(words("list.none")).toBe(said("list.none"))
    expect(words("may.lacks", { permission: "job.edit" })).toBe(said("may.lacks", { permission: "job.edit" }))
    expect(words("may.lacks", { permission: "$& {{permission}}" })).toContain("$& {{permission}}")
    for (const count of [1, 2]) expect(words("list.shown", { count })).toBe(said("list.shown", { count }))
  }
})

test("whoever asks is given the same function until another language is spoken", async () => {
  const { result, rerender } = renderHook(() => useWords(["monitor", "parts"]))
  const english = result.current
  rerender()
  expect(result.current).toBe(english)
  const none = english("parts:list.none")
  await act(() => speak("zh"))
  expect(result.current("parts:list.none")).not.toBe(none)
})
