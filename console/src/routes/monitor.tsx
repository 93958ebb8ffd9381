// Addresses of Monitor: what happens and what happened.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import type { Paging } from "../parts/paged"
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
  component: lazyRouteComponent(() => import("../pages/instance/InstancePage"), "InstancePage"),
})

export const deadRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/dead-letters",
  validateSearch: (search: Record<string, unknown>): DeadFilters & Paging => ({
    job: text(search.job),
    cursor: text(search.cursor),
  }),
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
