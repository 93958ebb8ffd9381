// Addresses of Designer: jobs and what they are made of.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { asked } from "../api/client"
import type { Paging } from "../parts/paged"
import { first } from "./first"
import { rootRoute } from "./root"
import { oneOf, text, whole } from "./search"

export const MODES = ["enabled", "paused", "disabled"] as const
export type JobFilters = { name?: string; folder?: string; label?: string; mode?: (typeof MODES)[number] }

/** One page of the list of jobs. */
export function jobsAsked({ name, folder, label, mode, cursor }: JobFilters & Paging) {
  return asked.queryOptions("get", "/api/v1/jobs", {
    params: { query: { name, folder, label, mode, cursor, limit: 50 } },
  })
}

/** The form, unless the file is asked for. */
export type EditorSearch = { view?: "yaml" }

export const jobsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/jobs",
  validateSearch: (search: Record<string, unknown>): JobFilters & Paging => ({
    name: text(search.name),
    folder: text(search.folder),
    label: text(search.label),
    mode: oneOf(MODES, search.mode),
    cursor: text(search.cursor),
  }),
  ...first(jobsAsked),
  component: lazyRouteComponent(() => import("../pages/jobs/JobsPage"), "JobsPage"),
})

export const jobRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/jobs/$name",
  ...first((_: object, { name }: { name: string }) =>
    asked.queryOptions("get", "/api/v1/jobs/{name}", { params: { path: { name } } }),
  ),
  component: lazyRouteComponent(() => import("../pages/job/JobPage"), "JobPage"),
})

export const newJobRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/new-job",
  validateSearch: (search: Record<string, unknown>): EditorSearch & { copy?: string } => ({
    view: oneOf(["yaml"] as const, search.view),
    copy: text(search.copy),
  }),
  component: lazyRouteComponent(() => import("../pages/editor/EditorPage"), "NewJobPage"),
})

export const editJobRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/jobs/$name/edit",
  validateSearch: (search: Record<string, unknown>): EditorSearch => ({
    view: oneOf(["yaml"] as const, search.view),
  }),
  component: lazyRouteComponent(() => import("../pages/editor/EditorPage"), "EditJobPage"),
})

export const versionsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/jobs/$name/versions",
  validateSearch: (search: Record<string, unknown>): { version?: number; against?: number } => ({
    version: whole(search.version),
    against: whole(search.against),
  }),
  component: lazyRouteComponent(() => import("../pages/editor/VersionsPage"), "VersionsPage"),
})

export const scriptRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/jobs/$name/script",
  component: lazyRouteComponent(() => import("../pages/script/ScriptPage"), "ScriptPage"),
})

export const importRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/import-jobs",
  component: lazyRouteComponent(() => import("../pages/editor/ImportPage"), "ImportPage"),
})

export const designerRoutes = [
  jobsRoute,
  jobRoute,
  newJobRoute,
  editJobRoute,
  versionsRoute,
  scriptRoute,
  importRoute,
] as const
