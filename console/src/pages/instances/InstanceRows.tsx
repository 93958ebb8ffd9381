// Instances as rows, wherever they are listed.
import type { TFunction } from "i18next"
import { useMemo } from "react"
import type { Schemas } from "../../api/client"
import { Moment, Took } from "../../parts/Moment"
import { type Column, Rows } from "../../parts/Rows"
import { Short } from "../../parts/Short"
import { StateTag } from "../../parts/StateTag"
import { To, toInstance, toJob } from "../../parts/To"
import { useWords } from "../../parts/words"
import { Cause } from "./Cause"

export type Instance = Schemas["InstanceView"]

export function useInstanceColumns(): Column<Instance>[] {
  const t = useWords("monitor")
  return useMemo(() => columns(t), [t])
}

function columns(t: TFunction<"monitor">): Column<Instance>[] {
  return [
    {
      key: "id",
      title: t("instances.column.id"),
      show: (row) => (
        <To to={toInstance(row.id)} className="number">
          {row.id}
        </To>
      ),
    },
    {
      key: "job",
      title: t("instances.column.job"),
      wide: "rest",
      show: (row) => <To to={toJob(row.job)}>{row.job}</To>,
    },
    { key: "state", title: t("instances.column.state"), show: (row) => <StateTag state={row.state} /> },
    { key: "planned", title: t("instances.column.planned"), show: (row) => <Moment at={row.planned_at} /> },
    { key: "started", title: t("instances.column.started"), show: (row) => <Moment at={row.started_at} /> },
    { key: "took", title: t("instances.column.took"), show: (row) => <Took from={row.started_at} to={row.ended_at} /> },
    { key: "agent", title: t("instances.column.agent"), show: (row) => <Short text={row.agent ?? "–"} /> },
    { key: "cause", title: t("instances.column.cause"), wide: "words", show: (row) => <Cause cause={row.cause} /> },
  ]
}

export function InstanceRows({ rows, label, without }: { rows: Instance[]; label: string; without?: string[] }) {
  const all = useInstanceColumns()
  const left = without?.join()
  const columns = useMemo(() => all.filter((column) => !left?.split(",").includes(column.key)), [all, left])
  return <Rows label={label} columns={columns} rows={rows} id={(row) => row.id} />
}
