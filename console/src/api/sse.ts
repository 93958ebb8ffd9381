// Reads server-sent events off a fetch: the browser's own EventSource can neither name a tenant nor tell a refusal from a
// lost connection. Never reconnects by itself.
import { streamHeaders } from "./client"
import { asProblem, isProblem, made, type Problem, UNREADABLE } from "./problem"

export type Sent = { id: string | undefined; name: string; data: string }

/** Reads until the stream ends; throws a problem if it is refused, whatever the network throws if it breaks. */
export async function readEvents(
  path: string,
  options: { lastSeen?: string; signal: AbortSignal; opened?: (answer: Response) => void; alive?: () => void },
  take: (event: Sent) => void,
): Promise<void> {
  const answer = await fetch(path, { headers: streamHeaders(options.lastSeen), signal: options.signal })
  if (!answer.ok || !answer.body) throw await refusal(answer)
  options.opened?.(answer)
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  const parse = parser(take)
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    options.alive?.()
    parse(value)
  }
}

async function refusal(answer: Response): Promise<Problem> {
  try {
    const said: unknown = await answer.json()
    return isProblem(said) ? said : asProblem(said)
  } catch {
    return made(UNREADABLE, `${answer.status} ${answer.statusText}`, answer.status)
  }
}

/** Takes text in any pieces and tells whole events. */
export function parser(take: (event: Sent) => void): (text: string) => void {
  let rest = ""
  let event = empty()
  return (text) => {
    const lines = (rest + text).split(/\r?\n/)
    rest = lines.pop() ?? ""
    for (const line of lines) {
      if (line === "") {
        if (event.data !== "" || event.name !== "message") take(event)
        event = empty()
      } else {
        note(event, line)
      }
    }
  }
}

function empty(): Sent {
  return { id: undefined, name: "message", data: "" }
}

function note(event: Sent, line: string) {
  const colon = line.indexOf(":")
  // A line that begins with a colon is a comment: the connection lives.
  if (colon === 0) return
  const field = colon < 0 ? line : line.slice(0, colon)
  const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "")
  if (field === "event") event.name = value
  else if (field === "id") event.id = value
  else if (field === "data") event.data = event.data === "" ? value : `${event.data}\n${value}`
}
