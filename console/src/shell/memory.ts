// What the server answered, remembered for each tenant by itself: nothing that one answered is ever shown in another.
import { QueryClient } from "@tanstack/react-query"
import { asked, tenantNow } from "../api/client"
import { isProblem, UNREACHABLE } from "../api/problem"

const memories = new Map<string, QueryClient>()

export const WHOAMI = asked.queryOptions("get", "/api/v1/whoami").queryKey

export function memory(tenant: string | undefined): QueryClient {
  const key = tenant ?? ""
  for (const [other, client] of memories) if (other !== key) void client.cancelQueries()
  const known = memories.get(key)
  if (known) return known
  const made = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5000,
        // What the server refuses, it refuses again.
        retry: (tries, error) => tries < 3 && isProblem(error) && (error.code === UNREACHABLE || error.status === 503),
        refetchOnWindowFocus: true,
      },
    },
  })
  memories.set(key, made)
  return made
}

/** Where an address of this tenant may be asked about at once: somebody is signed in there and looks at it. */
export function signedIn(tenant: string | undefined): QueryClient | undefined {
  if (tenant !== tenantNow()) return undefined
  const client = memories.get(tenant ?? "")
  const who = client?.getQueryData<{ must_change_password?: boolean }>(WHOAMI)
  return who && !who.must_change_password ? client : undefined
}
