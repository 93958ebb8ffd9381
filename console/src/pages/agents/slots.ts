// How many tasks at once, as people read it. An executor of XXL-JOB says no bound of its own; the server counts it with this many.
const NO_BOUND = 1_000_000

export function slotsOf(slots: number): string {
  return slots >= NO_BOUND ? "∞" : String(slots)
}
