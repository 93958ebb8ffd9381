// Rows of a list as a plain table: fast with hundreds of rows, read well by screen readers, and cards on a phone. Knows
// nothing of where rows come from.
import { memo } from "react"
import { InRow } from "./Moment"
import { ROW_PX, useScreenful } from "./screenful"
import "./rows.css"

export type Column<Row> = {
  key: string
  title: string
  show: (row: Row) => React.ReactNode
  /** `rest` takes what room is left and may break, `words` breaks between words; the others take what they need. */
  wide?: "rest" | "words" | "end"
}

type Picked<Row> = { has: (row: Row) => boolean; toggle: (row: Row) => void; label: (row: Row) => string }

export function Rows<Row>(props: {
  label: string
  /** The same ones as long as they show the same: a row is drawn anew when it or they have changed. */
  columns: Column<Row>[]
  rows: Row[]
  id: (row: Row) => React.Key
  /** Rows that can be picked, by id. */
  picked?: Picked<Row>
}) {
  const { label, columns, rows, id, picked } = props
  const count = useScreenful(rows.length)
  // Whoever comes back is where they were: the page is as long as it will be.
  const room = count < rows.length ? { minHeight: rows.length * ROW_PX } : undefined
  return (
    <InRow value={true}>
      <div className="rows" style={room}>
        <table aria-label={label}>
          <thead>
            <tr>
              {picked && <td className="rows-pick" />}
              {columns.map((column) => (
                <th key={column.key} scope="col" className={column.wide && `rows-${column.wide}`}>
                  {column.title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, count).map((row) => (
              <tr key={id(row)} className={picked?.has(row) ? "rows-picked" : undefined}>
                {picked && (
                  <td className="rows-pick">
                    <input
                      type="checkbox"
                      aria-label={picked.label(row)}
                      checked={picked.has(row)}
                      onChange={() => picked.toggle(row)}
                    />
                  </td>
                )}
                <Cells row={row} columns={columns as Column<unknown>[]} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </InRow>
  )
}

/** Under live updates most rows stay as they are, and then cost nothing. */
const Cells = memo(function Cells({ row, columns }: { row: unknown; columns: Column<unknown>[] }) {
  return columns.map((column) => (
    <td key={column.key} data-title={column.title} className={column.wide && `rows-${column.wide}`}>
      {column.show(row)}
    </td>
  ))
})
