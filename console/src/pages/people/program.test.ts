import { expect, test } from "vitest"
import { programOf } from "./program"

test("a browser is called as people call it", () => {
  const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"
  expect(programOf(chrome)).toBe("Chrome 156, Linux")
  expect(programOf(`${chrome.replace("X11; Linux x86_64", "Windows NT 10.0; Win64; x64")} Edg/155.0.0.0`)).toBe(
    "Edge 155, Windows",
  )
  expect(programOf("Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Firefox/140.0")).toBe(
    "Firefox 140, macOS",
  )
  expect(
    programOf("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605 Version/19.0 Mobile Safari/604"),
  ).toBe("Safari 19, iOS")
})

test("anything else is called as it calls itself", () => {
  expect(programOf("duly 0.4.0")).toBe("duly 0.4.0")
  expect(programOf("")).toBe("")
})
