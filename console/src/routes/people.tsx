// Addresses of people and rights.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { asked } from "../api/client"
import { first } from "./first"
import { rootRoute } from "./root"
import { text } from "./search"

/** The permission somebody asks about. */
export type PersonSearch = { may?: string }

const peopleRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/people",
  ...first(() => asked.queryOptions("get", "/api/v1/people")),
  component: lazyRouteComponent(() => import("../pages/people/PeoplePage"), "PeoplePage"),
})

const personRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/people/$name",
  validateSearch: (search: Record<string, unknown>): PersonSearch => ({ may: text(search.may) }),
  component: lazyRouteComponent(() => import("../pages/person/PersonPage"), "PersonPage"),
})

const groupsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/groups",
  ...first(() => asked.queryOptions("get", "/api/v1/groups")),
  component: lazyRouteComponent(() => import("../pages/people/GroupsPage"), "GroupsPage"),
})

const rolesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/roles",
  ...first(() => asked.queryOptions("get", "/api/v1/roles")),
  component: lazyRouteComponent(() => import("../pages/rights/RolesPage"), "RolesPage"),
})

const grantsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/grants",
  ...first(() => asked.queryOptions("get", "/api/v1/grants")),
  component: lazyRouteComponent(() => import("../pages/rights/GrantsPage"), "GrantsPage"),
})

export const peopleRoutes = [peopleRoute, personRoute, groupsRoute, rolesRoute, grantsRoute] as const
