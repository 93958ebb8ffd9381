// All addresses of the console. An area keeps its own in a file of `routes`.
import { createRouter } from "@tanstack/react-router"
import { adminRoutes } from "./routes/admin"
import { designerRoutes } from "./routes/designer"
import { entryRoutes } from "./routes/entry"
import { monitorRoutes } from "./routes/monitor"
import { rootRoute } from "./routes/root"
import { Loading } from "./shell/Loading"

export const router = createRouter({
  routeTree: rootRoute.addChildren([...entryRoutes, ...monitorRoutes, ...designerRoutes, ...adminRoutes]),
  basepath: "/ui",
  defaultPreload: "intent",
  // Queries decide by themselves what is fresh.
  defaultPreloadStaleTime: 0,
  // What a page waits for it also waits for when its code was loaded before.
  defaultStaleReloadMode: "blocking",
  defaultPendingComponent: Loading,
  defaultPendingMs: 150,
  // What is there is shown, however short the waiting was.
  defaultPendingMinMs: 0,
  scrollRestoration: true,
})

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router
  }
}
