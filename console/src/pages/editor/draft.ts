// A job as text and as values, at the same time: the text is what counts, and what a form changes is changed in the text, so
// that comments, order and keys no form knows stay. Never judges a job: the server does.
import { isMap, isScalar, parseDocument, Scalar, stringify } from "yaml"

export type Value = string | number | boolean | null | Value[] | { [key: string]: Value }
export type Body = { [key: string]: Value }

/** What the short form of a key stands for: `cron: X` is `cron: { expr: X }`. */
const SHORT: Record<string, string> = {
  cron: "expr",
  every: "every",
  delay: "delay",
  once: "at",
  after: "job",
  pool: "name",
  retry: "times",
  http: "url",
  executor: "handler",
  sh: "source",
  python: "source",
  node: "source",
  php: "source",
  powershell: "source",
}

/** The job in a text; nothing if it is not one map of keys. */
export function bodyOf(text: string): Body | undefined {
  const doc = parseDocument(text, { logLevel: "silent" })
  if (doc.errors.length > 0 || !isMap(doc.contents)) return undefined
  return doc.toJS() as Body
}

export const TASKS = ["sh", "python", "node", "php", "powershell", "command", "http", "executor", "noop"] as const

/** Has a name and a task: before that there is nothing to judge. What cannot be read is for the server to tell. */
export function hasBegun(text: string): boolean {
  const body = bodyOf(text)
  if (body === undefined) return true
  const isNamed = typeof body.job !== "string" ? body.job != null : body.job.trim() !== ""
  return isNamed && TASKS.some((task) => body[task] != null && body[task] !== "")
}

/** What a key says, in its long form. */
export function longOf(body: Body, key: string): Body {
  const value = body[key]
  if (value === undefined || value === null) return {}
  if (typeof value === "object" && !Array.isArray(value)) return value
  const main = SHORT[key]
  return main ? { [main]: value } : {}
}

/** The text with one value in another way; `undefined` takes the key away. */
export function put(text: string, path: readonly string[], value: Value | undefined): string {
  const doc = parseDocument(text, { logLevel: "silent" })
  if (doc.errors.length > 0) return text
  const [key, inner] = path
  if (key === undefined) return text
  const main = SHORT[key]
  if (inner !== undefined) {
    const there = doc.get(key, true)
    if (isScalar(there) && main) doc.set(key, doc.createNode({ [main]: there.value }))
    else if (there === undefined || (isScalar(there) && !main)) doc.set(key, doc.createNode({}))
  }
  if (value === undefined) doc.deleteIn(path)
  else doc.setIn(path, node(value))
  const left = doc.get(key, true)
  if (inner !== undefined && isMap(left)) {
    if (left.items.length === 0) doc.delete(key)
    // The short form again, where nothing else is said.
    else if (left.items.length === 1 && main && left.has(main) && isScalar(left.get(main, true)))
      doc.set(key, left.get(main, true))
  }
  return doc.toString({ lineWidth: 0 })

  function node(of: Value) {
    const made = doc.createNode(of)
    if (isScalar(made) && typeof of === "string" && of.includes("\n")) made.type = Scalar.BLOCK_LITERAL
    return made
  }
}

/** One of several keys stands, the others go. */
export function swap(text: string, keys: readonly string[], key: string, value: Value): string {
  const without = keys.filter((one) => one !== key).reduce((so, one) => put(so, [one], undefined), text)
  return put(without, [key], value)
}

export function textOf(body: object): string {
  return stringify(body, { lineWidth: 0 })
}

/** The key of the job that a line of its text belongs to. */
export function keyAt(text: string, line: number): string | undefined {
  const lines = text.split("\n")
  for (let at = Math.min(line, lines.length) - 1; at >= 0; at--) {
    const found = /^["']?([\w]+)["']?\s*:/.exec(lines[at] ?? "")
    if (found) return found[1]
  }
  return undefined
}

/** The values of a map written as lines, or nothing if it is none. */
export function mapIn(text: string): Body | undefined {
  if (text.trim() === "") return {}
  return bodyOf(text)
}

/** The job with another script, as short or as long as it was written. */
export function withSource(body: Body, key: string, source: string): Body {
  const now = body[key]
  return {
    ...body,
    [key]: typeof now === "object" && now !== null && !Array.isArray(now) ? { ...now, source } : source,
  }
}
