// Writes a cron expression from a few questions, and lets somebody write their own. The expression is what counts.

import { Choice, Field } from "../../parts/form/Field"
import { useWords } from "../../parts/words"
import { type Often, readCron, writeCron } from "./cron"

const OFTEN = ["minutes", "hourly", "daily", "weekly", "monthly", "own"] as const

export function CronBuilder({ expr, unix, change }: { expr: string; unix: boolean; change: (expr: string) => void }) {
  const t = useWords("editor")
  const read = readCron(expr, unix)
  const write = (often: Often) => change(writeCron(often, unix))
  const choose = (kind: (typeof OFTEN)[number]) => {
    const { hour, minute } = "hour" in read ? read : { hour: 3, minute: 0 }
    if (kind === "minutes") write({ kind, every: 5 })
    if (kind === "hourly") write({ kind, minute })
    if (kind === "daily") write({ kind, hour, minute })
    if (kind === "weekly") write({ kind, day: 1, hour, minute })
    if (kind === "monthly") write({ kind, day: 1, hour, minute })
  }
  return (
    <>
      <Choice
        words={t("cron.often")}
        value={read.kind}
        options={OFTEN.map((one) => [one, t(`cron.${one}`)] as const)}
        change={choose}
      />
      {read.kind === "minutes" && (
        <Count
          words={t("cron.every")}
          value={read.every}
          min={1}
          max={59}
          change={(every) => write({ ...read, every })}
        />
      )}
      {read.kind === "hourly" && (
        <Count
          words={t("cron.minute")}
          value={read.minute}
          min={0}
          max={59}
          change={(minute) => write({ ...read, minute })}
        />
      )}
      {read.kind === "weekly" && (
        <Choice
          words={t("cron.weekday")}
          value={String(read.day)}
          options={["1", "2", "3", "4", "5", "6", "0"].map((day) => [day, t(`cron.days.${day as "0"}`)] as const)}
          change={(day) => write({ ...read, day: Number(day) })}
        />
      )}
      {read.kind === "monthly" && (
        <Count words={t("cron.day")} value={read.day} min={1} max={31} change={(day) => write({ ...read, day })} />
      )}
      {(read.kind === "daily" || read.kind === "weekly" || read.kind === "monthly") && (
        <Field
          words={t("cron.time")}
          type="time"
          value={`${two(read.hour)}:${two(read.minute)}`}
          change={(time) => {
            const [hour, minute] = time.split(":").map(Number)
            if (hour !== undefined && minute !== undefined) write({ ...read, hour, minute })
          }}
        />
      )}
      <Field
        words={t("cron.expr")}
        hint={t(unix ? "cron.unix_hint" : "cron.quartz_hint")}
        value={expr}
        change={change}
      />
    </>
  )
}

function Count(props: { words: string; value: number; min: number; max: number; change: (value: number) => void }) {
  const change = (text: string) => {
    const value = Number(text)
    if (Number.isInteger(value) && value >= props.min && value <= props.max) props.change(value)
  }
  return (
    <Field
      words={props.words}
      type="number"
      min={props.min}
      max={props.max}
      value={String(props.value)}
      change={change}
    />
  )
}

const two = (n: number) => String(n).padStart(2, "0")
