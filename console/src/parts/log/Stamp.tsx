// When a line was written: the time of day, to the millisecond.
import { browserZone } from "../prefs"
import { inZone } from "../time"

export function Stamp({ at, zone }: { at: string; zone: string | undefined }) {
  const millis = at.slice(20, 23).padEnd(3, "0")
  return <span className="log-time">{`${inZone(new Date(at), zone ?? browserZone()).slice(11)}.${millis}`}</span>
}
