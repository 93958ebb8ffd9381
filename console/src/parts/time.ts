// Times and lengths as people read them, in the chosen zone. Never asks for the present time by itself but where it says so.
import { browserZone } from "./prefs"

const formats = new Map<string, Intl.DateTimeFormat>()

function format(zone: string): Intl.DateTimeFormat {
  let one = formats.get(zone)
  if (!one) {
    one = new Intl.DateTimeFormat("en-CA", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    })
    formats.set(zone, one)
  }
  return one
}

/** `2026-11-16 21:41:15`, the same in every language. */
export function inZone(at: Date, zone: string): string {
  // en-CA has just this order; only what stands between the parts is not ours.
  return format(zone).format(at).replace(", ", " ")
}

/** The zone that is not chosen: what somebody may want to compare with. */
export function otherZone(chosen: string): string {
  return chosen === "UTC" ? browserZone() : "UTC"
}

/** `1 h 03 m`, `4.2 s`, `310 ms`. */
export function length(ms: number): string {
  if (ms < 0) return `−${length(-ms)}`
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  const two = (n: number) => String(n).padStart(2, "0")
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} m`
  return `${Math.floor(seconds / 86_400)} d ${two(Math.floor((seconds % 86_400) / 3600))} h`
}

/** In words: "in 3 minutes", "5 minutes ago", as the language has it. */
export function relative(at: Date, now: Date, language: string): string {
  const words = new Intl.RelativeTimeFormat(language, { numeric: "auto" })
  const seconds = Math.round((at.getTime() - now.getTime()) / 1000)
  const far = Math.abs(seconds)
  if (far < 60) return words.format(seconds, "second")
  if (far < 3600) return words.format(Math.round(seconds / 60), "minute")
  if (far < 86_400) return words.format(Math.round(seconds / 3600), "hour")
  return words.format(Math.round(seconds / 86_400), "day")
}

/** What a field for date and time shows for an instant; empty if there is none or it cannot be read. */
export function toLocal(at: string | undefined, zone: string): string {
  const date = new Date(at ?? "")
  return Number.isNaN(date.getTime()) ? "" : inZone(date, zone).replace(" ", "T")
}

/** The instant that a field for date and time means in a zone, as the API writes it. */
export function fromLocal(local: string, zone: string): string | undefined {
  const wall = Date.parse(`${local}Z`)
  if (local === "" || Number.isNaN(wall)) return undefined
  // The offset at the guess may not be the one at the answer, near a change of the clocks; the second look settles it.
  const offset = (instant: number) => Date.parse(`${inZone(new Date(instant), zone).replace(" ", "T")}Z`) - instant
  const guess = wall - offset(wall)
  return new Date(wall - offset(guess)).toISOString()
}
