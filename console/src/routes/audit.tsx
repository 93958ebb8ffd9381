// Addresses of the audit.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import type { Paging } from "../parts/paged"
import { rootRoute } from "./root"
import { text } from "./search"

export type AuditFilters = { who?: string; operation?: string; about?: string; since?: string; outcome?: string }

export const auditRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/audit",
  validateSearch: (search: Record<string, unknown>): AuditFilters & Paging => ({
    who: text(search.who),
    operation: text(search.operation),
    about: text(search.about),
    since: text(search.since),
    outcome: text(search.outcome),
    cursor: text(search.cursor),
  }),
  component: lazyRouteComponent(() => import("../pages/audit/AuditPage"), "AuditPage"),
})

export const entryRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/audit/$seq",
  params: { parse: ({ seq }) => ({ seq: Number(seq) }), stringify: ({ seq }) => ({ seq: String(seq) }) },
  component: lazyRouteComponent(() => import("../pages/audit/EntryPage"), "EntryPage"),
})
