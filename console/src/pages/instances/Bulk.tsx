// Does one thing to many instances: says beforehand which of them it is about and what becomes of each, shows how far it is, and
// tells what was refused.
import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { Moment } from "../../parts/Moment"
import { useFaultTitle } from "../../parts/ProblemBox"
import { StateTag } from "../../parts/StateTag"
import { useWords } from "../../parts/words"
import { carryOut, fits, type Refused, type Verb } from "./carry"
import type { Instance } from "./InstanceRows"
import "./bulk.css"

const VERBS = ["stop", "rerun", "replay"] as const

export function Bulk({ rows, clear }: { rows: Instance[]; clear: () => void }) {
  const t = useWords("monitor")
  return (
    <section className="bulk card" aria-label={t("bulk.title")}>
      <span role="status">{t("bulk.picked", { count: rows.length })}</span>
      {VERBS.filter((verb) => rows.some((row) => fits(verb, row))).map((verb) => (
        <Opens
          key={verb}
          needs="instance.run"
          danger={verb === "stop"}
          words={t(`bulk.${verb}`, { count: rows.filter((row) => fits(verb, row)).length })}
          title={t(`bulk.${verb}_ask`)}
        >
          {(close) => <Preview verb={verb} rows={rows} close={close} clear={clear} />}
        </Opens>
      ))}
      <button type="button" className="plain" onClick={clear}>
        {t("bulk.clear")}
      </button>
    </section>
  )
}

type PreviewProps = { verb: Verb; rows: Instance[]; close: () => void; clear: () => void }

function Preview({ verb, rows, close, clear }: PreviewProps) {
  const t = useWords("monitor")
  const queries = useQueryClient()
  const [at, setAt] = useState(0)
  const [refused, setRefused] = useState<Refused[]>([])
  const titleOf = useFaultTitle(refused.length > 0)
  // What was picked when this was opened: rows change by themselves meanwhile.
  const [chosen] = useState(() => rows.filter((row) => fits(verb, row)))
  const left = rows.length - chosen.length
  const act = async () => {
    const ids = chosen.map((row) => row.id)
    const outcome = await carryOut(verb, ids, setAt)
    void queries.invalidateQueries()
    setRefused(outcome.refused)
    const told = t(`bulk.${verb}_done`, { count: outcome.done })
    if (outcome.refused.length > 0) return `${told}; ${t("bulk.some", { count: outcome.refused.length })}`
    clear()
    close()
    return told
  }
  return (
    <Form
      submit={t(`bulk.${verb}`, { count: chosen.length })}
      danger={verb === "stop"}
      disabled={refused.length > 0}
      act={act}
    >
      <p>{t(`bulk.${verb}_hint`)}</p>
      {left > 0 && <p className="soft">{t("bulk.left", { count: left })}</p>}
      <ul className="bulk-list" tabIndex={0} aria-label={t("bulk.which")}>
        {chosen.map((row) => (
          <Chosen key={row.id} verb={verb} row={row} />
        ))}
      </ul>
      {at > 0 && (
        <div className="bulk-progress">
          <progress max={chosen.length} value={at} aria-label={t("bulk.title")} />
          <span role="status">{t("bulk.progress", { at, count: chosen.length })}</span>
        </div>
      )}
      {refused.map(({ id, why, code }) => (
        <p key={id} role="alert">
          {id}: {why === undefined ? t("bulk.passed_over") : code ? `${titleOf(code)}${why} (${code})` : why}
        </p>
      ))}
    </Form>
  )
}

/** One of them: which job, of when, how it is, and what becomes of it. */
function Chosen({ verb, row }: { verb: Verb; row: Instance }) {
  const t = useWords("monitor")
  return (
    <li>
      <span className="number">{row.id}</span> <strong>{row.job}</strong> <StateTag state={row.state} />{" "}
      <small className="soft">
        <Moment at={row.planned_at} /> ·{" "}
        {t(`bulk.will.${fate(verb, row)}`, { number: row.attempt_no + 1, version: row.version })}
      </small>
    </li>
  )
}

/** What a verb does to an instance as it is now. */
export function fate(verb: Verb, row: Pick<Instance, "state">): "ends" | "never" | "again" | "anew" {
  if (verb === "stop") return row.state === "running" || row.state === "dispatched" ? "ends" : "never"
  return verb === "rerun" ? "again" : "anew"
}
