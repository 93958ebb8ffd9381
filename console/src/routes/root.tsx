// The root of all addresses: the tenant that is looked at stays in the address from page to page.
import { createRootRoute, retainSearchParams } from "@tanstack/react-router"
import { Broken } from "../shell/Broken"
import { NotFound } from "../shell/NotFound"
import { Shell } from "../shell/Shell"
import { text } from "./search"

export type RootSearch = { tenant?: string }

export const rootRoute = createRootRoute({
  validateSearch: (search: Record<string, unknown>): RootSearch => ({ tenant: text(search.tenant) }),
  search: { middlewares: [retainSearchParams<RootSearch>(["tenant"])] },
  component: Shell,
  notFoundComponent: NotFound,
  errorComponent: Broken,
})
