// Addresses of whoever is not in yet.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router"
import { rootRoute } from "./root"

export const setupRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/setup",
  component: lazyRouteComponent(() => import("../pages/entry/SetupPage"), "SetupPage"),
})

export const entryRoutes = [setupRoute] as const
