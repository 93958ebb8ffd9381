// What a page shows first is asked for as soon as its address is entered, while its code arrives; the page before stays until it
// is there, or has taken so long that one should see it is under way (the router's `defaultPendingMs`). Not when somebody only
// reaches for a link: a mouse that wanders over the menu costs the server nothing.
import { signedIn } from "../shell/memory"

/** As `asked.queryOptions` makes it. */
type Asked = { queryKey: readonly unknown[] }

type Entered<Search, Params> = {
  cause: "preload" | "enter" | "stay"
  deps: Search
  params: Params
  location: { search: { tenant?: string } }
}

/** Part of a route: how its page asks, from what stands in the address. The page asks the same way and finds it under way. */
export function first<Search = object, Params = object>(ask: (search: Search, params: Params) => Asked) {
  return {
    loaderDeps: ({ search }: { search: Search }) => search,
    loader: async ({ cause, deps, params, location }: Entered<Search, Params>) => {
      const memory = signedIn(location.search.tenant)
      if (cause === "preload" || !memory) return
      const asked = ask(deps, params)
      const known = memory.getQueryData(asked.queryKey)
      // The page itself asks again, and says so.
      const answered = memory.prefetchQuery({ ...asked, retry: false } as never)
      // What was answered before is shown meanwhile; and whoever types in a filter stays in it.
      if (cause === "enter" && known === undefined) await answered
    },
  }
}
