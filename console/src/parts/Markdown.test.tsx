import { render } from "@testing-library/react"
import { expect, test } from "vitest"
import { blocks, firstWords, Markdown } from "./Markdown"

test("lines of a paragraph are one", () => {
  expect(blocks("one\ntwo\n\n- a\n- b")).toEqual([
    { kind: "p", text: "one two" },
    { kind: "li", text: "a" },
    { kind: "li", text: "b" },
  ])
})

test("only addresses of the web are links, and nothing is HTML", () => {
  const { container } = render(
    <Markdown text={"**b** [x](javascript:alert(1)) <img src=x> [y](https://example.com)"} />,
  )
  expect(container.querySelectorAll("img").length).toBe(0)
  expect([...container.querySelectorAll("a")].map((one) => one.href)).toEqual(["https://example.com/"])
  expect(container.querySelector("strong")?.textContent).toBe("b")
})

test("one line is told without its marks", () => {
  expect(firstWords("## Sends **invoices**, see [the wiki](https://example.com)\nmore")).toBe(
    "Sends invoices, see the wiki",
  )
})
