// Whatever the server refuses is told in Chinese, too, and nothing is told that no server says.
import { readdirSync, readFileSync } from "node:fs"
import { cleanup, render } from "@testing-library/react"
import i18next from "i18next"
import { afterEach, expect, test } from "vitest"
import type { Problem } from "../api/problem"
import { ProblemBox } from "../parts/ProblemBox"
import { begin, speak } from "."
import { helpFor } from "./problems"
import zh from "./zh/problems"

const pages = readdirSync("../docs/errors").filter((name) => name.startsWith("E"))
const source = (path: string) => readFileSync(`../crates/${path}`, "utf8")

/** What the server says by code, from its own table. */
const english = [...source("wire/src/errors.rs").matchAll(/"(E\d{4})" \d+ "([^"]+)" "((?:[^"\\]|\\.)+)";/g)].map(
  ([, code = "", title = "", help = ""]) => ({ code, title, help: help.replaceAll('\\"', '"') }),
)

afterEach(cleanup)

test("every code has Chinese, and there is none for a code that does not exist", () => {
  const codes = pages.map((name) => name.replace(".md", "")).sort()
  expect(codes.length).toBeGreaterThan(100)
  expect(Object.keys(zh.entries).sort()).toEqual(codes)
  expect(english.map((one) => one.code)).toEqual(codes)
})

test("titles are short, help is whole sentences, both are Chinese", () => {
  for (const [code, { title, help }] of Object.entries(zh.entries)) {
    expect(title, code).toMatch(/^[^。]*\p{Script=Han}[^。]*$/u)
    expect(title.length, code).toBeLessThanOrEqual(25)
    expect(help, code).toMatch(/\p{Script=Han}.*。$/su)
  }
})

test("what is to be typed is the same in both", () => {
  const typed = (text: string) => text.match(/`[^`]+`|--[a-z-]+|DULY_[A-Z_]+|\b[a-z]+\.(tasks|users|set|pass)\b/g) ?? []
  for (const { code, help } of english) {
    expect(typed(helpFor(zh, code, help) ?? "").sort(), code).toEqual(typed(help).sort())
  }
})

test("advice for one occurrence is not lost behind that of its code", () => {
  const files = readdirSync("../crates", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".rs"))
  const all = files.flatMap((file) => [...source(file).matchAll(/\.with_help\((?:format!\()?"([^"]+)"/g)])
  expect(all.length).toBeGreaterThan(0)
  for (const [, advice = ""] of all) {
    expect(helpFor(zh, "none", advice.replace(/\{\w+\}/g, "7"))).toMatch(/\p{Script=Han}/u)
  }
  expect(helpFor(zh, "E0112", "Try again in 30 s.")).toBe("请在 30 秒后重试。")
  expect(helpFor(zh, "E9999", "As the server says.")).toBe("As the server says.")
})

test("every suggestion for a fault that has Chinese is one the server makes", () => {
  const files = readdirSync("../crates/wire/src", { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".rs"),
  )
  const all = files.map((file) => source(`wire/src/${file}`)).join("\n")
  expect(Object.keys(zh.hints).filter((hint) => !all.includes(`"${hint}"`))).toEqual([])
})

test("every finding of harden has Chinese, and no other", () => {
  const ids = [...source("server/src/harden.rs").matchAll(/\bid: "([a-z-]+)"/g)].map((found) => found[1])
  expect(ids.length).toBeGreaterThan(10)
  expect(Object.keys(zh.findings).sort()).toEqual(ids.sort())
})

const refusal: Problem = {
  type: "urn:duly:error:E0301",
  title: "there is no such job",
  status: 404,
  detail: "there is no job gone",
  code: "E0301",
  help: "List the jobs with `duly job list`; names are exact.",
  errors: [{ code: "E0207", path: "cron.zone", message: "Mars/Base is not a zone" }],
}

test("a problem is told in Chinese, its cause as the server told it", async () => {
  await begin("zh")
  const box = render(<ProblemBox error={refusal} />)
  await box.findByText("作业不存在")
  box.getByText("E0301")
  box.getByText("there is no job gone")
  expect(box.getByText("duly job list").tagName).toBe("CODE")
  expect(box.container.textContent).toContain("cron.zone 未知的时区：Mars/Base is not a zone")
  expect(box.container.textContent).not.toContain("no such job")
})

test("what has no words yet is told as the server told it", async () => {
  await i18next.changeLanguage("zh")
  const box = render(<ProblemBox error={{ ...refusal, code: "E9999", errors: [] }} />)
  await box.findByText("there is no such job")
  expect(box.container.textContent).toContain("names are exact.")
})

test("English is the server's own", async () => {
  await speak("en")
  const box = render(<ProblemBox error={refusal} />)
  box.getByText("there is no such job")
  expect(box.container.textContent).toContain("List the jobs with duly job list; names are exact.")
})
