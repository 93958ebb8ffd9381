// Before and after beside each other; what differs is marked by more than a colour.

import { type Column, Rows } from "../../parts/Rows"
import { useWords } from "../../parts/words"
import { type Changed, changes } from "./changes"
import "./diff.css"

export function Diff({ before, after }: { before: unknown; after: unknown }) {
  const t = useWords("admin")
  const rows = changes(before, after)
  if (rows.length === 0) return <p className="soft">{t("audit.no_diff")}</p>
  const differs = (row: Changed) => row.before !== row.after
  const columns: Column<Changed>[] = [
    { key: "path", title: t("audit.field"), show: (row) => <code>{row.path}</code> },
    {
      key: "before",
      title: t("audit.before"),
      wide: "rest",
      show: (row) => (differs(row) && row.before !== undefined ? <del>{row.before}</del> : (row.before ?? "–")),
    },
    {
      key: "after",
      title: t("audit.after"),
      wide: "rest",
      show: (row) => (differs(row) && row.after !== undefined ? <ins>{row.after}</ins> : (row.after ?? "–")),
    },
  ]
  return <Rows label={t("audit.diff")} columns={columns} rows={rows} id={(row) => row.path} />
}
