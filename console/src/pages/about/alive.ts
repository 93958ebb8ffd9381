// Whether the server lives and takes work. One that does not says so with an error's status, and that is an answer, too.
import { useQuery } from "@tanstack/react-query"
import { api, type Schemas } from "../../api/client"

const EVERY_MS = 10_000

export function useHealth(everyMs = EVERY_MS) {
  return useQuery({
    queryKey: ["get", "/api/v1/health"],
    queryFn: async () => told(await api.GET("/api/v1/health"), (answer: Schemas["HealthView"]) => answer.shards),
    refetchInterval: everyMs,
  })
}

export function useReady() {
  return useQuery({
    queryKey: ["get", "/api/v1/ready"],
    queryFn: async () => told(await api.GET("/api/v1/ready"), (answer: Schemas["ReadyView"]) => answer.missing),
    refetchInterval: EVERY_MS,
  })
}

/** The answer, whatever its status; a problem, if it is none. */
function told<View>(came: { data?: View; error?: unknown }, mark: (view: View) => unknown): View {
  if (came.data !== undefined) return came.data
  if (typeof came.error === "object" && came.error !== null && mark(came.error as View) !== undefined) {
    return came.error as View
  }
  throw came.error
}
