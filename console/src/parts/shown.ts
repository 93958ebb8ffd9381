// Shows a change before the server has answered, wherever its thing is shown; whoever asked takes it back if it is refused. Only
// for what the server hardly ever refuses and somebody sees at once.
import type { QueryClient } from "@tanstack/react-query"

type Thing = Record<string, unknown>

/** Everything that is shown of `about` and fits looks changed from now on; answers how to take that back. */
export function showChanged(
  queries: QueryClient,
  about: "jobs" | "agents",
  fits: (thing: Thing) => boolean,
  change: Thing,
): () => void {
  const predicate = ({ queryKey }: { queryKey: readonly unknown[] }) => isAbout(queryKey[1], about)
  // What was asked before would show the old again.
  void queries.cancelQueries({ predicate })
  const before = queries.getQueriesData<Thing>({ predicate })
  for (const [key, data] of before) {
    if (data) queries.setQueryData(key, changed(data, fits, change))
  }
  return () => {
    for (const [key, data] of before) queries.setQueryData(key, data)
  }
}

function isAbout(path: unknown, about: string): boolean {
  return path === `/api/v1/${about}` || path === `/api/v1/${about}/{name}` || path === `/api/v1/${about}/{id}`
}

/** A list with the things that fit changed, or the thing itself. */
export function changed(data: Thing, fits: (thing: Thing) => boolean, change: Thing): Thing {
  if (Array.isArray(data.items)) {
    return { ...data, items: (data.items as Thing[]).map((one) => (fits(one) ? { ...one, ...change } : one)) }
  }
  return fits(data) ? { ...data, ...change } : data
}
