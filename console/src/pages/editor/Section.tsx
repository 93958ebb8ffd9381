// A section of the form, with the faults of its keys; and what the sections share.
import { labelsIn, labelsOut } from "../../parts/written"
import type { Body, Value } from "./draft"
import { LineField } from "./LineField"

export type Put = (path: string[], value: Value | undefined) => void
export type SectionProps = { body: Body; set: Put; faults: Faults; text: string; change: (text: string) => void }
export type Faults = { key: string | undefined; text: string }[]

export function Section(props: { title: string; keys: readonly string[]; faults: Faults; children: React.ReactNode }) {
  const here = props.faults.filter((fault) => fault.key !== undefined && props.keys.includes(fault.key))
  return (
    <fieldset className="card">
      <legend className="unseen">{props.title}</legend>
      <h2>{props.title}</h2>
      {here.map((fault) => (
        <p key={fault.text} className="fault">
          {fault.text}
        </p>
      ))}
      <div className="fields">{props.children}</div>
    </fieldset>
  )
}

/** Labels as one line; it is read when the field is left, so that half a label is none. */
export function Labels(props: {
  words: string
  hint?: string
  value: Value | undefined
  change: (value: Body | undefined) => void
}) {
  const labels = (typeof props.value === "object" && !Array.isArray(props.value) ? props.value : {}) as Record<
    string,
    string
  >
  return (
    <LineField
      words={props.words}
      hint={props.hint}
      value={labelsOut(labels ?? {})}
      change={(line) => props.change(line.trim() === "" ? undefined : labelsIn(line))}
    />
  )
}

/** A value as the text of a field. */
export function word(value: Value | undefined): string {
  if (value === undefined || value === null) return ""
  return typeof value === "object" ? JSON.stringify(value) : String(value).trim() === "" ? "" : String(value)
}
