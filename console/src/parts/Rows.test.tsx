import { cleanup, render, screen, waitFor } from "@testing-library/react"
import { afterEach, expect, test, vi } from "vitest"
import { type Column, Rows } from "./Rows"

const columns: Column<number>[] = [{ key: "n", title: "Number", show: (n) => n }]
const list = (count: number) => (
  <Rows label="numbers" columns={columns} rows={Array.from({ length: count }, (_, n) => n)} id={(n) => n} />
)
afterEach(cleanup)

/** Without the heading. */
const drawn = () => screen.getAllByRole("row").length - 1

test("a long list is drawn for the screen first, with room for the rest, and whole after the next frame", async () => {
  vi.stubGlobal("innerHeight", 660)
  render(list(50))
  expect(drawn()).toBe(20)
  const room = screen.getByRole("table").parentElement as HTMLElement
  expect(Number.parseInt(room.style.minHeight, 10)).toBeGreaterThan(50 * 30)
  await waitFor(() => expect(drawn()).toBe(50))
  expect(room.style.minHeight).toBe("")
})

test("what fits the screen is drawn at once, and so is what comes later", async () => {
  vi.stubGlobal("innerHeight", 660)
  const { rerender } = render(list(3))
  expect(drawn()).toBe(3)
  rerender(list(60))
  await waitFor(() => expect(drawn()).toBe(60))
})
