// What happens otherwise: when times overlap, when a try fails, when something is late, and who goes first.

import { Choice, Field, Tick } from "../../parts/form/Field"
import { useWords } from "../../parts/words"
import { wordsIn } from "../../parts/written"
import { type Body, longOf, type Value } from "./draft"
import { LineField } from "./LineField"
import { Section, type SectionProps, word } from "./Section"

const OVERLAPS = ["queue", "allow", "skip", "replace"] as const
const EXCLUSIVES = ["no", "wait", "takeover"] as const
const KEYS = [
  "overlap",
  "exclusive",
  "retry",
  "not_started_by",
  "not_finished_by",
  "priority",
  "dead_letter",
  "mutex",
  "limits",
  "resources",
  "stop_grace",
  "lost_after",
  "log",
]

export function RulesSection({ body, set, faults }: SectionProps) {
  const t = useWords("editor")
  const retry = longOf(body, "retry")
  const exclusive =
    typeof body.exclusive === "object" && body.exclusive
      ? "takeover"
      : (EXCLUSIVES.find((one) => one === body.exclusive) ?? "no")
  const mutex = Array.isArray(body.mutex) ? body.mutex.map(String).join(", ") : ""
  const number = (text: string): Value | undefined => (text === "" ? undefined : Number(text))
  return (
    <Section title={t("rules.title")} keys={KEYS} faults={faults}>
      <Overlap body={body} set={set} />
      <Choice
        words={t("rules.exclusive")}
        hint={t(`rules.exclusive_hint.${exclusive}`)}
        value={exclusive}
        options={EXCLUSIVES.map((one) => [one, t(`rules.exclusives.${one}`)] as const)}
        change={(v) => set(["exclusive"], v === "no" ? undefined : v)}
      />
      <Field
        words={t("rules.retry")}
        hint={t("rules.retry_hint")}
        type="number"
        min={0}
        value={word(retry.times)}
        change={(v) => set(["retry", "times"], number(v))}
        placeholder="0"
      />
      {Number(retry.times ?? 0) > 0 && (
        <>
          <Field
            words={t("rules.delay")}
            hint={t("rules.delay_hint")}
            value={word(retry.delay)}
            change={(v) => set(["retry", "delay"], v)}
            placeholder="10s"
          />
          <Field
            words={t("rules.backoff")}
            hint={t("rules.backoff_hint")}
            type="number"
            step="any"
            value={word(retry.backoff)}
            change={(v) => set(["retry", "backoff"], number(v))}
            placeholder="1"
          />
        </>
      )}
      <Field
        words={t("rules.not_started_by")}
        hint={t("rules.not_started_by_hint")}
        value={word(body.not_started_by)}
        change={(v) => set(["not_started_by"], v)}
        placeholder="5m"
      />
      <Field
        words={t("rules.not_finished_by")}
        hint={t("rules.not_finished_by_hint")}
        value={word(body.not_finished_by)}
        change={(v) => set(["not_finished_by"], v)}
        placeholder="1h"
      />
      <Field
        words={t("rules.priority")}
        hint={t("rules.priority_hint")}
        type="number"
        min={-1000}
        max={1000}
        value={word(body.priority)}
        change={(v) => set(["priority"], number(v))}
        placeholder="0"
      />
      <LineField
        words={t("rules.mutex")}
        hint={t("rules.mutex_hint")}
        value={mutex}
        change={(line) => set(["mutex"], wordsIn(line).length > 0 ? wordsIn(line) : undefined)}
      />
      <Tick
        words={t("rules.dead_letter")}
        hint={t("rules.dead_letter_hint")}
        value={body.dead_letter === true}
        change={(on) => set(["dead_letter"], on ? true : undefined)}
      />
    </Section>
  )
}

function Overlap({ body, set }: Pick<SectionProps, "body" | "set">) {
  const t = useWords("editor")
  const map = typeof body.overlap === "object" && body.overlap !== null ? (body.overlap as Body) : undefined
  const overlap = OVERLAPS.find((one) => one === body.overlap || map?.[one] !== undefined) ?? "queue"
  const counted = overlap === "queue" || overlap === "allow"
  return (
    <>
      <Choice
        words={t("rules.overlap")}
        hint={t(`rules.overlap_hint.${overlap}`)}
        value={overlap}
        options={OVERLAPS.map((one) => [one, t(`rules.overlaps.${one}`)] as const)}
        change={(v) => set(["overlap"], v)}
      />
      {counted && (
        <Field
          words={t(`rules.${overlap}_most`)}
          type="number"
          min={1}
          value={word(map?.[overlap])}
          placeholder={overlap === "queue" ? "100" : "∞"}
          change={(v) => set(["overlap"], v === "" ? overlap : { [overlap]: Number(v) })}
        />
      )}
    </>
  )
}
