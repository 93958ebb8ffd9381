// Addresses of the audit.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { asked } from "../api/client"
import type { Paging } from "../parts/paged"
import { first } from "./first"
import { rootRoute } from "./root"
import { text } from "./search"

export type AuditFilters = { who?: string; operation?: string; about?: string; since?: string; outcome?: string }

/** One page of the audit. */
export function auditAsked({ who, operation, about, since, outcome, cursor }: AuditFilters & Paging) {
  const query = { who, operation, about, since, outcome, cursor, limit: 50 }
  return asked.queryOptions("get", "/api/v1/audit", { params: { query } })
}

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
  ...first(auditAsked),
  component: lazyRouteComponent(() => import("../pages/audit/AuditPage"), "AuditPage"),
})

export const entryRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/audit/$seq",
  params: { parse: ({ seq }) => ({ seq: Number(seq) }), stringify: ({ seq }) => ({ seq: String(seq) }) },
  component: lazyRouteComponent(() => import("../pages/audit/EntryPage"), "EntryPage"),
})
