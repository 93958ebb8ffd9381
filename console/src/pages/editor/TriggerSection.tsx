// When a job runs: its trigger, with the times that come of it.

import { Choice, Field } from "../../parts/form/Field"
import { allZones, browserZone, usePrefs } from "../../parts/prefs"
import { fromLocal, toLocal } from "../../parts/time"
import { useWords } from "../../parts/words"
import { CronBuilder } from "./CronBuilder"
import { type Body, longOf, swap, type Value } from "./draft"
import { Preview } from "./Preview"
import { Section, type SectionProps, word } from "./Section"

const TRIGGERS = ["manual", "cron", "every", "delay", "once", "after"] as const
type Trigger = (typeof TRIGGERS)[number]
const TIMED = ["cron", "every", "delay", "once"] as const
const MISFIRES = ["once", "skip", "all"] as const
const ON = ["success", "failure", "end"] as const
const HOUR_MS = 3_600_000

const triggerOf = (body: Body): Trigger => [...TIMED, "after" as const].find((one) => body[one] != null) ?? "manual"

export function TriggerSection({ body, set, faults, text, change }: SectionProps) {
  const t = useWords("editor")
  const trigger = triggerOf(body)
  const begin = (kind: Trigger) => change(swap(text, TRIGGERS, kind, begun(kind)))
  return (
    <Section title={t("trigger.title")} keys={TRIGGERS} faults={faults}>
      <Choice
        words={t("trigger.kind")}
        hint={t(`trigger.hint.${trigger}`)}
        value={trigger}
        options={TRIGGERS.map((one) => [one, t(`trigger.of.${one}`)] as const)}
        change={begin}
      />
      {trigger === "cron" && <Cron body={body} set={set} />}
      {(trigger === "every" || trigger === "delay") && (
        <Field
          words={t(`trigger.${trigger}`)}
          hint={t("trigger.duration_hint")}
          value={word(longOf(body, trigger)[trigger])}
          change={(v) => set(longOf(body, trigger) === body[trigger] ? [trigger, trigger] : [trigger], v || " ")}
        />
      )}
      {trigger === "once" && <Once body={body} set={set} />}
      {trigger === "after" && <After body={body} set={set} />}
      {trigger !== "manual" && trigger !== "after" && <Further trigger={trigger} body={body} set={set} />}
      {(trigger === "cron" || trigger === "every" || trigger === "once") && (
        <div className="wide">
          <Preview trigger={trigger} value={body[trigger] ?? ""} />
        </div>
      )}
    </Section>
  )
}

function begun(kind: Trigger): Value {
  switch (kind) {
    case "cron":
      return { expr: "0 0 3 * * ?", zone: browserZone() }
    case "every":
    case "delay":
      return "5m"
    case "once":
      return new Date(Math.ceil(Date.now() / HOUR_MS) * HOUR_MS + HOUR_MS).toISOString()
    case "after":
      return ""
    case "manual":
      return true
  }
}

type Part = Pick<SectionProps, "body" | "set">

function Cron({ body, set }: Part) {
  const t = useWords("editor")
  const cron = longOf(body, "cron")
  const set1 = (key: string) => (value: string) => set(["cron", key], value)
  const dst = typeof cron.dst === "object" && cron.dst !== null ? (cron.dst as Body) : {}
  const changeDst = (key: "gap" | "overlap", value: string) => {
    const next = Object.fromEntries(Object.entries({ ...dst, [key]: value }).filter(([, one]) => one !== ""))
    set(["cron", "dst"], Object.keys(next).length > 0 ? (next as Body) : undefined)
  }
  return (
    <>
      <CronBuilder
        expr={word(cron.expr)}
        unix={cron.dialect === "unix"}
        change={(expr) => set(["cron", "expr"], expr || " ")}
      />
      <Choice
        words={t("trigger.dialect")}
        hint={t(`trigger.dialect_hint.${cron.dialect === "unix" ? "unix" : "quartz"}`)}
        value={cron.dialect === "unix" ? "unix" : "quartz"}
        options={
          [
            ["quartz", "Quartz"],
            ["unix", "crontab"],
          ] as const
        }
        change={(v) => set(["cron", "dialect"], v === "quartz" ? undefined : v)}
      />
      <Field
        words={t("trigger.zone")}
        hint={t("trigger.zone_hint")}
        value={word(cron.zone)}
        change={set1("zone")}
        choices={allZones()}
        placeholder="UTC"
      />
      <Choice
        words={t("trigger.gap")}
        hint={t("trigger.gap_hint")}
        value={dst.gap === "skip" || dst.gap === "at_gap_end" ? dst.gap : ""}
        options={
          [
            ["", t("trigger.usual")],
            ["at_gap_end", t("trigger.gaps.at_gap_end")],
            ["skip", t("trigger.gaps.skip")],
          ] as const
        }
        change={(v) => changeDst("gap", v)}
      />
      <Choice
        words={t("trigger.fold")}
        hint={t("trigger.fold_hint")}
        value={dst.overlap === "first" || dst.overlap === "second" || dst.overlap === "both" ? dst.overlap : ""}
        options={
          [
            ["", t("trigger.usual")],
            ["first", t("trigger.folds.first")],
            ["second", t("trigger.folds.second")],
            ["both", t("trigger.folds.both")],
          ] as const
        }
        change={(v) => changeDst("overlap", v)}
      />
    </>
  )
}

function Once({ body, set }: Part) {
  const t = useWords("editor")
  const zone = usePrefs().zone ?? browserZone()
  const at = word(longOf(body, "once").at)
  const long = longOf(body, "once") === body.once
  return (
    <Field
      words={t("trigger.once")}
      hint={t("trigger.once_hint", { zone })}
      type="datetime-local"
      step={1}
      value={toLocal(at, zone)}
      change={(v) => set(long ? ["once", "at"] : ["once"], fromLocal(v, zone) ?? at)}
    />
  )
}

function After({ body, set }: Part) {
  const t = useWords("editor")
  if (Array.isArray(body.after)) return <p className="wide">{t("trigger.after_many")}</p>
  const after = longOf(body, "after")
  const on = ON.find((one) => one === after.on) ?? "success"
  return (
    <>
      <Field words={t("trigger.after")} value={word(after.job)} change={(v) => set(["after", "job"], v || " ")} />
      <Choice
        words={t("trigger.on")}
        hint={t(`trigger.on_hint.${on}`)}
        value={on}
        options={ON.map((one) => [one, t(`trigger.ons.${one}`)] as const)}
        change={(v) => set(["after", "on"], v === "success" ? undefined : v)}
      />
    </>
  )
}

function Further({ trigger, body, set }: Part & { trigger: Trigger }) {
  const t = useWords("editor")
  const long = longOf(body, trigger)
  const rule = typeof long.misfire === "object" && long.misfire !== null ? (long.misfire as Body).rule : long.misfire
  const misfire = MISFIRES.find((one) => one === rule) ?? "once"
  const grace = typeof long.misfire === "object" && long.misfire !== null ? (long.misfire as Body).grace : undefined
  const changeRule = (v: string) => {
    if (grace !== undefined) set([trigger, "misfire"], { rule: v, grace })
    else set([trigger, "misfire"], v === "once" ? undefined : v)
  }
  return (
    <>
      <Choice
        words={t("trigger.misfire")}
        hint={t(`trigger.misfire_hint.${misfire}`)}
        value={misfire}
        options={MISFIRES.map((one) => [one, t(`trigger.misfires.${one}`)] as const)}
        change={changeRule}
      />
      <Field
        words={t("trigger.jitter")}
        hint={t("trigger.jitter_hint")}
        value={word(long.jitter)}
        change={(v) => set([trigger, "jitter"], v)}
        placeholder="30s"
      />
    </>
  )
}
