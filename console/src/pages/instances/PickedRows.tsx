// Instances of which some can be picked, to do one thing to all of them.
import { useState } from "react"
import { Act } from "../../parts/Act"
import { useMay } from "../../parts/may"
import { Rows } from "../../parts/Rows"
import { useWords } from "../../parts/words"
import { Bulk } from "./Bulk"
import { type Instance, useInstanceColumns } from "./InstanceRows"
import { everything, PICKED_MAX, type Picked, type Query, toggled, toggledAll } from "./pick"

/** `query`: what these rows were asked by; `paged`: whether there are others on other pages. */
type Props = { rows: Instance[]; label: string; query: Query; paged: boolean }

export function PickedRows({ rows, label, query, paged }: Props) {
  const t = useWords("monitor")
  const columns = useInstanceColumns()
  const may = useMay()("instance.run")
  // With what is known of them now, even when they are on the next page by then.
  const [picked, setPicked] = useState<Picked>(new Map())
  const chosen = [...picked.values()].map((one) => rows.find((row) => row.id === one.id) ?? one)
  const pick = {
    has: (row: Instance) => picked.has(row.id),
    toggle: (row: Instance) => setPicked(toggled(picked, row)),
    label: (row: Instance) => t("bulk.pick", { id: row.id }),
  }
  const pickEverything = async () => {
    const { rows: all, more } = await everything(query)
    setPicked(new Map(all.map((row) => [row.id, row])))
    return more ? t("bulk.first_only", { max: PICKED_MAX }) : undefined
  }
  return (
    <>
      {may && (
        <div className="pick-all">
          <label>
            <input
              type="checkbox"
              checked={rows.every((row) => picked.has(row.id))}
              onChange={() => setPicked(toggledAll(picked, rows))}
            />{" "}
            {t("bulk.all", { count: rows.length })}
          </label>
          {paged && (
            <Act size="small" type="text" act={pickEverything}>
              {t("bulk.everything", { max: PICKED_MAX })}
            </Act>
          )}
        </div>
      )}
      {chosen.length > 0 && <Bulk rows={chosen} clear={() => setPicked(new Map())} />}
      <Rows label={label} columns={columns} rows={rows} id={(row) => row.id} picked={may ? pick : undefined} />
    </>
  )
}
