// The few shapes of cron expressions that the builder can ask about; everything else is somebody's own. Never judges one.
export type Often =
  | { kind: "minutes"; every: number }
  | { kind: "hourly"; minute: number }
  | { kind: "daily"; hour: number; minute: number }
  /** Sunday is 0. */
  | { kind: "weekly"; day: number; hour: number; minute: number }
  | { kind: "monthly"; day: number; hour: number; minute: number }

const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]

export function readCron(expr: string, unix: boolean): Often | { kind: "own" } {
  const own = { kind: "own" } as const
  const fields = expr.trim().split(/\s+/)
  if (!unix && fields.shift() !== "0") return own
  if (fields.length !== 5) return own
  const [minutes = "", hours = "", day = "", month = "", weekday = ""] = fields
  const any = (field: string) => field === "*" || field === "?"
  if (!any(month)) return own
  const minute = whole(minutes)
  const hour = whole(hours)
  const each = /^(?:\*|0)\/(\d+)$/.exec(minutes)
  if (any(hours) && any(day) && any(weekday)) {
    if (each) return { kind: "minutes", every: Number(each[1]) }
    return minute === undefined ? own : { kind: "hourly", minute }
  }
  if (minute === undefined || hour === undefined) return own
  if (any(day) && any(weekday)) return { kind: "daily", hour, minute }
  if (any(day) && DAYS.includes(weekday)) return { kind: "weekly", day: DAYS.indexOf(weekday), hour, minute }
  const date = whole(day)
  return date !== undefined && any(weekday) ? { kind: "monthly", day: date, hour, minute } : own
}

export function writeCron(often: Often, unix: boolean): string {
  // Quartz wants exactly one of the two days to be left open by a question mark.
  const open = unix ? "*" : "?"
  const fields = (): string => {
    switch (often.kind) {
      case "minutes":
        return `*/${often.every} * * * ${open}`
      case "hourly":
        return `${often.minute} * * * ${open}`
      case "daily":
        return `${often.minute} ${often.hour} * * ${open}`
      case "weekly":
        return `${often.minute} ${often.hour} ${open} * ${DAYS[often.day]}`
      case "monthly":
        return `${often.minute} ${often.hour} ${often.day} * ${open}`
    }
  }
  return unix ? fields() : `0 ${fields()}`
}

function whole(field: string): number | undefined {
  return /^\d+$/.test(field) ? Number(field) : undefined
}
