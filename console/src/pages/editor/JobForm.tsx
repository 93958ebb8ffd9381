// A job as a form, in sections: what it is, what it does, when, where, and what happens otherwise. Every change goes into the
// text; what the form does not know stays there.

import type { Problem } from "../../api/problem"
import { Area, Choice, Field } from "../../parts/form/Field"
import { useFaultHint, useFaultTitle } from "../../parts/ProblemBox"
import { useWords } from "../../parts/words"
import { MODES } from "../../routes/designer"
import { type Body, keyAt, put } from "./draft"
import { RulesSection } from "./RulesSection"
import { Labels, type Put, Section, type SectionProps, word } from "./Section"
import { TaskSection } from "./TaskSection"
import { TriggerSection } from "./TriggerSection"
import { WhereSection } from "./WhereSection"
import "../../parts/form/form.css"

type Props = {
  text: string
  body: Body
  change: (text: string) => void
  problem: Problem | undefined
  fixedName: boolean
}

export function JobForm({ text, body, change, problem, fixedName }: Props) {
  const set: Put = (path, value) => change(put(text, path, value === "" ? undefined : value))
  const titleOf = useFaultTitle(problem !== undefined)
  const hintOf = useFaultHint(problem !== undefined)
  const faults = (problem?.errors ?? []).map((fault) => ({
    key: fault.line ? keyAt(text, fault.line) : undefined,
    text: [`${titleOf(fault.code)}${fault.message}`, hintOf(fault.hint), fault.code].filter(Boolean).join(" · "),
  }))
  const section = { body, set, faults, text, change }
  return (
    <form className="job-form" onSubmit={(event) => event.preventDefault()}>
      <About {...section} fixedName={fixedName} />
      <TaskSection {...section} />
      <TriggerSection {...section} />
      <WhereSection {...section} />
      <RulesSection {...section} />
    </form>
  )
}

function About({ body, set, faults, fixedName }: SectionProps & { fixedName: boolean }) {
  const t = useWords(["editor", "parts"])
  const mode = MODES.find((one) => one === body.mode) ?? ""
  const modes = [["", t("editor:about.mode_same")], ...MODES.map((one) => [one, t(`parts:mode.${one}`)])] as const
  return (
    <Section
      title={t("editor:about.title")}
      keys={["job", "folder", "owner", "labels", "description", "mode"]}
      faults={faults}
    >
      <Field
        words={t("editor:about.name")}
        hint={t("editor:about.name_hint")}
        value={word(body.job)}
        change={(job) => set(["job"], job === "" ? " " : job)}
        disabled={fixedName}
        maxLength={128}
      />
      <Field
        words={t("editor:about.folder")}
        hint={t("editor:about.folder_hint")}
        value={word(body.folder)}
        change={(v) => set(["folder"], v)}
      />
      <Field words={t("editor:about.owner")} value={word(body.owner)} change={(v) => set(["owner"], v)} />
      <Labels
        words={t("editor:about.labels")}
        hint={t("editor:about.labels_hint")}
        value={body.labels}
        change={(v) => set(["labels"], v)}
      />
      <Choice
        words={t("editor:about.mode")}
        hint={mode === "" ? t("editor:about.mode_hint") : t(`parts:mode_hint.${mode}`)}
        value={mode}
        options={modes as readonly (readonly [typeof mode, string])[]}
        change={(v) => set(["mode"], v)}
      />
      <div className="wide">
        <Area
          words={t("editor:about.description")}
          hint={t("editor:about.description_hint")}
          value={word(body.description)}
          change={(v) => set(["description"], v)}
          rows={5}
        />
      </div>
    </Section>
  )
}
