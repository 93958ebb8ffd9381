// Sums up what the dashboard shows. Asks nobody and knows no words.
export type Bucket = { from: string; to: string }
export type Told = { good: number; bad: number; other: number }

/** Equal parts of the time before an instant, oldest first; their borders stay the same while the present one lasts. */
export function buckets(now: number, count: number, ms: number): Bucket[] {
  const end = Math.ceil(now / ms) * ms
  return Array.from({ length: count }, (_, at) => ({
    from: new Date(end - (count - at) * ms).toISOString(),
    to: new Date(end - (count - at - 1) * ms).toISOString(),
  }))
}

export function told(counts: Record<string, number>): Told {
  const of = (...states: string[]) => states.reduce((sum, state) => sum + (counts[state] ?? 0), 0)
  const all = Object.values(counts).reduce((sum, one) => sum + one, 0)
  const good = of("succeeded", "warned")
  const bad = of("failed", "dead")
  return { good, bad, other: all - good - bad }
}

/** What the page has seen: rates and delays at instants, oldest first. */
export type Sample = { at: number; ended: number; delay: number }
const KEPT_MS = 1_800_000
const APART_MS = 5_000

/** One more sample. Those of the same few seconds are one, and those of long ago are forgotten. */
export function remembered(before: Sample[], now: Sample): Sample[] {
  const last = before.at(-1)
  const others = last && now.at - last.at < APART_MS ? before.slice(0, -1) : before
  // The first of a few seconds keeps its place, so that the next one is apart from it.
  const at = others.length < before.length && last ? last.at : now.at
  return [...others.filter((one) => now.at - one.at < KEPT_MS), { ...now, at }]
}

/** Points of a line 100 wide and 20 high, the largest value at its top. */
export function spark(values: number[]): string {
  const most = Math.max(...values, 1e-9)
  const step = 100 / Math.max(1, values.length - 1)
  return values.map((value, at) => `${(at * step).toFixed(1)},${(19 - (value / most) * 18).toFixed(1)}`).join(" ")
}

/** Full hours within a time, at most about six of them. */
export function hourMarks(from: number, span: number): number[] {
  const every = 3_600_000 * Math.max(1, Math.ceil(span / 3_600_000 / 6))
  const marks: number[] = []
  for (let at = Math.ceil(from / every) * every; at < from + span; at += every) marks.push(at)
  return marks
}
