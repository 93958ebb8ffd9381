// Pages of a list by keyset: the cursor is part of the address, as the filters are, so a page can be bookmarked and the
// browser's own back button leads to the page before. One page is held, never all of them.
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { useWords } from "./words"

/** What every list has in its address, beside its own filters. */
export type Paging = { cursor?: string }

type Search = Record<string, unknown>

/** Reads and changes the filters in the address; whoever changes one begins on the first page. */
export function useFilters<Filters extends Search>() {
  const search: Search = useSearch({ strict: false })
  const filters = search as Filters & Paging
  const navigate = useNavigate()
  const change = (changed: Partial<Filters>) =>
    navigate({
      to: ".",
      search: (before: Search) => tidy({ ...before, ...changed, cursor: undefined }),
      replace: true,
    } as never)
  return { filters, change }
}

/** What is empty is not in the address. */
export function tidy(search: Search): Search {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined && value !== ""))
}

export function Pager(props: { shown: number; next: string | null | undefined; updating: boolean }) {
  const t = useWords("parts")
  const { cursor } = useSearch({ strict: false }) as Paging
  const to = (where: string | undefined) => (before: Search) => tidy({ ...before, cursor: where }) as never
  return (
    <nav className="pager" aria-label={t("list.pages")}>
      <span className="soft" aria-live="polite">
        {props.updating ? t("list.updating") : t("list.shown", { count: props.shown })}
      </span>
      {cursor && (
        <Link to="." search={to(undefined)}>
          {t("list.first")}
        </Link>
      )}
      {props.next && (
        <Link to="." search={to(props.next)}>
          {t("list.next")}
        </Link>
      )}
    </nav>
  )
}
