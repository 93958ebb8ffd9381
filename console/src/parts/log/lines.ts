// Frames of output as lines: whole lines of either stream, in the order they came, as a terminal would show them. Holds a
// bounded number; never touches the network.
import type { Schemas } from "../../api/client"

export type Frame = Schemas["LogFrameView"]
export type Line = { text: string; stream: Schemas["LogStream"]; at: string }

/** More than this is not held; the whole log can be downloaded. */
export const LINES_MAX = 300_000
const LOOKS_WRONG = /\b(error|exception|fatal|panic(ked)?|traceback|failed|failure)\b/i

export class Lines {
  readonly all: Line[] = []
  dropped = 0
  /** Where the unfinished line of a stream stands in `all`. */
  private unfinished = new Map<string, Line>()

  push(frame: Frame) {
    const pieces = textOf(frame).split("\n")
    const last = pieces.length - 1
    pieces.forEach((piece, n) => {
      // After the last line break there is nothing yet.
      if (n === last && piece === "") return
      this.add(frame, piece)
      if (n < last) this.unfinished.delete(frame.stream)
    })
    this.bound()
  }

  private add(frame: Frame, piece: string) {
    const begun = this.unfinished.get(frame.stream)
    if (begun) {
      begun.text = overwritten(begun.text + piece)
      return
    }
    const line = { text: overwritten(piece), stream: frame.stream, at: frame.at }
    this.all.push(line)
    this.unfinished.set(frame.stream, line)
  }

  private bound() {
    if (this.all.length <= LINES_MAX * 1.1) return
    const over = this.all.length - LINES_MAX
    this.all.splice(0, over)
    this.dropped += over
  }
}

/** A carriage return goes back to the beginning of the line: of a progress bar the last state stays. */
function overwritten(text: string): string {
  const whole = text.endsWith("\r") ? text.slice(0, -1) : text
  return whole.slice(whole.lastIndexOf("\r") + 1)
}

function textOf(frame: Frame): string {
  if (frame.bytes == null) return frame.text ?? ""
  const bytes = Uint8Array.from(atob(frame.bytes), (letter) => letter.charCodeAt(0))
  return new TextDecoder().decode(bytes)
}

/** The first line that looks like an error: by its words, else the first on stderr. */
export function firstError(lines: readonly Line[]): number {
  const worded = lines.findIndex((line) => LOOKS_WRONG.test(line.text))
  return worded >= 0 ? worded : lines.findIndex((line) => line.stream === "stderr")
}

export function hits(lines: readonly Line[], wanted: string): number[] {
  if (wanted === "") return []
  const needle = wanted.toLowerCase()
  const found: number[] = []
  lines.forEach((line, n) => {
    if (line.text.toLowerCase().includes(needle)) found.push(n)
  })
  return found
}
