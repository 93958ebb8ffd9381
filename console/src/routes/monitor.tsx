// Addresses of Monitor: what happens and what happened.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { asked } from "../api/client"
import type { paths } from "../api/schema.gen"
import type { Paging } from "../parts/paged"
import { first } from "./first"
import { rootRoute } from "./root"
import { oneOf, text } from "./search"

/** As the API has them: states with commas between, instants in UTC. */
export const CAUSES = ["planned", "misfire", "manual", "after", "shard"] as const
export type InstanceFilters = {
  state?: string
  job?: string
  from?: string
  to?: string
  parent?: string
  agent?: string
  cause?: (typeof CAUSES)[number]
  folder?: string
  label?: string
}
export type DeadFilters = { job?: string }
type InstanceQuery = NonNullable<paths["/api/v1/instances"]["get"]["parameters"]["query"]>

/** As the API is asked for what stands in the address. */
export function instanceQuery(filters: InstanceFilters): InstanceQuery {
  const { state, job, from, to, parent, agent, cause, folder, label } = filters
  return { state, job, from, to, parent: number(parent), agent: number(agent), cause, folder, label }
}

/** What is no number is for the server to refuse, which says so. */
function number(text: string | undefined): number | undefined {
  return text ? Number(text) : undefined
}

export const deadQuery = ({ job }: DeadFilters): InstanceQuery => ({ state: "dead", job })

/** One page of a list of instances. */
export const instancesAsked = (query: InstanceQuery, cursor?: string) =>
  asked.queryOptions("get", "/api/v1/instances", { params: { query: { ...query, cursor, limit: 50 } } })

export type InstanceSearch = { attempt?: number }

export const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/",
  component: lazyRouteComponent(() => import("../pages/home/HomePage"), "HomePage"),
})

export const instancesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/instances",
  validateSearch: (search: Record<string, unknown>): InstanceFilters & Paging => ({
    state: text(search.state),
    job: text(search.job),
    from: text(search.from),
    to: text(search.to),
    parent: text(search.parent),
    agent: text(search.agent),
    cause: oneOf(CAUSES, search.cause),
    folder: text(search.folder),
    label: text(search.label),
    cursor: text(search.cursor),
  }),
  ...first((search: InstanceFilters & Paging) => instancesAsked(instanceQuery(search), search.cursor)),
  component: lazyRouteComponent(() => import("../pages/instances/InstancesPage"), "InstancesPage"),
})

export const instanceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/instances/$id",
  params: { parse: ({ id }) => ({ id: Number(id) }), stringify: ({ id }) => ({ id: String(id) }) },
  validateSearch: (search: Record<string, unknown>): InstanceSearch => {
    const attempt = Number(search.attempt)
    return { attempt: Number.isSafeInteger(attempt) && attempt > 0 ? attempt : undefined }
  },
  ...first((_: InstanceSearch, { id }: { id: number }) =>
    asked.queryOptions("get", "/api/v1/instances/{id}", { params: { path: { id } } }),
  ),
  component: lazyRouteComponent(() => import("../pages/instance/InstancePage"), "InstancePage"),
})

export const deadRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/dead-letters",
  validateSearch: (search: Record<string, unknown>): DeadFilters & Paging => ({
    job: text(search.job),
    cursor: text(search.cursor),
  }),
  ...first((search: DeadFilters & Paging) => instancesAsked(deadQuery(search), search.cursor)),
  component: lazyRouteComponent(() => import("../pages/instances/DeadPage"), "DeadPage"),
})

export const dashboardRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/dashboard",
  validateSearch: (search: Record<string, unknown>): { span?: "week" } => ({
    span: oneOf(["week"] as const, search.span),
  }),
  component: lazyRouteComponent(() => import("../pages/dashboard/DashboardPage"), "DashboardPage"),
})

export const monitorRoutes = [homeRoute, dashboardRoute, instancesRoute, deadRoute, instanceRoute] as const
