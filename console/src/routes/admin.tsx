// Addresses of Admin: the installation and who uses it.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { asked } from "../api/client"
import { auditRoute, entryRoute } from "./audit"
import { first } from "./first"
import { peopleRoutes } from "./people"
import { rootRoute } from "./root"

export const agentsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/agents",
  ...first(() => asked.queryOptions("get", "/api/v1/agents")),
  component: lazyRouteComponent(() => import("../pages/agents/AgentsPage"), "AgentsPage"),
})

export const agentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/agents/$id",
  params: { parse: ({ id }) => ({ id: Number(id) }), stringify: ({ id }) => ({ id: String(id) }) },
  component: lazyRouteComponent(() => import("../pages/agents/AgentPage"), "AgentPage"),
})

export const xxlTokensRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/xxl-tokens",
  ...first(() => asked.queryOptions("get", "/api/v1/xxl-tokens")),
  component: lazyRouteComponent(() => import("../pages/agents/XxlTokensPage"), "XxlTokensPage"),
})

export const poolsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/pools",
  ...first(() => asked.queryOptions("get", "/api/v1/pools")),
  component: lazyRouteComponent(() => import("../pages/pools/PoolsPage"), "PoolsPage"),
})

export const resourcesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/resources",
  ...first(() => asked.queryOptions("get", "/api/v1/resources")),
  component: lazyRouteComponent(() => import("../pages/pools/ResourcesPage"), "ResourcesPage"),
})

export const serversRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/servers",
  component: lazyRouteComponent(() => import("../pages/servers/ServersPage"), "ServersPage"),
})

export const aboutRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/about",
  component: lazyRouteComponent(() => import("../pages/about/AboutPage"), "AboutPage"),
})

export const variablesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/variables",
  ...first(() => asked.queryOptions("get", "/api/v1/variables")),
  component: lazyRouteComponent(() => import("../pages/values/VariablesPage"), "VariablesPage"),
})

export const secretsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/secrets",
  ...first(() => asked.queryOptions("get", "/api/v1/secrets")),
  component: lazyRouteComponent(() => import("../pages/values/SecretsPage"), "SecretsPage"),
})

export const tenantsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tenants",
  ...first(() => asked.queryOptions("get", "/api/v1/tenants")),
  component: lazyRouteComponent(() => import("../pages/tenants/TenantsPage"), "TenantsPage"),
})

export const tenantRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tenants/$name",
  component: lazyRouteComponent(() => import("../pages/tenants/TenantPage"), "TenantPage"),
})

export const settingsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/settings",
  component: lazyRouteComponent(() => import("../pages/settings/SettingsPage"), "SettingsPage"),
})

export const accountRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/account",
  component: lazyRouteComponent(() => import("../pages/account/AccountPage"), "AccountPage"),
})

const machines = [agentsRoute, agentRoute, xxlTokensRoute, poolsRoute, resourcesRoute, serversRoute] as const
const kept = [variablesRoute, secretsRoute, tenantsRoute, tenantRoute, settingsRoute] as const
const looked = [auditRoute, entryRoute, accountRoute, aboutRoute] as const

export const adminRoutes = [...machines, ...peopleRoutes, ...kept, ...looked] as const
