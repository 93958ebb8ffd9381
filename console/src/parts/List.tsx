// A whole list that is answered at once: under way, refused, empty, or its rows.
import { Loading } from "../shell/Loading"
import { ProblemBox } from "./ProblemBox"
import { type Column, Rows } from "./Rows"

type Asking<Row> = {
  data: { items: Row[] } | undefined
  error: unknown
  isPending: boolean
  refetch: () => unknown
}

export function List<Row>(props: {
  label: string
  asking: Asking<Row>
  columns: Column<Row>[]
  id: (row: Row) => React.Key
  /** Those that are shown; all, if absent. */
  keep?: (row: Row) => boolean
  empty: React.ReactNode
}) {
  const { asking, keep } = props
  const rows = keep ? asking.data?.items.filter(keep) : asking.data?.items
  return (
    <>
      {asking.error ? <ProblemBox error={asking.error} again={() => void asking.refetch()} /> : null}
      {asking.isPending && <Loading />}
      {rows && rows.length > 0 && <Rows label={props.label} columns={props.columns} rows={rows} id={props.id} />}
      {rows?.length === 0 && props.empty}
    </>
  )
}
