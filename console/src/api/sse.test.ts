import { expect, test } from "vitest"
import { parser, type Sent } from "./sse"

const read = (...pieces: string[]) => {
  const events: Sent[] = []
  const parse = parser((event) => events.push(event))
  for (const piece of pieces) parse(piece)
  return events
}

test("events come in any pieces, with names, numbers and comments between", () => {
  const text = ': alive\n\nevent: instance_ended\ndata: {"id":7}\nid: 7\n\nevent: end\ndata: {}\n\n'
  const whole = read(text)
  expect(whole).toEqual([
    { id: "7", name: "instance_ended", data: '{"id":7}' },
    { id: undefined, name: "end", data: "{}" },
  ])
  expect(read(...text)).toEqual(whole)
})

test("data on several lines is one text, and what is not finished is not told", () => {
  expect(read("data: a\ndata:b\r\n\r\ndata: c\n")).toEqual([{ id: undefined, name: "message", data: "a\nb" }])
})
