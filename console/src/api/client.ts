// The typed way to the server: the session's cookie goes along by itself, the chosen tenant as a header. Every failure,
// also that of the network, comes back as a problem. Never decides what to do about one.
import createFetchClient, { type Middleware } from "openapi-fetch"
import createClient from "openapi-react-query"
import { made, NOT_SIGNED_IN, UNREACHABLE, UNREADABLE } from "./problem"
import type { components, paths } from "./schema.gen"

export type Schemas = components["schemas"]

let tenant: string | undefined
const signedOut = new Set<() => void>()

/** Which tenant requests are about from now on; the account's own if none. */
export function actIn(name: string | undefined) {
  tenant = name
}

export function tenantNow(): string | undefined {
  return tenant
}

/** Called when the server says that nobody is signed in any more. */
export function onSignedOut(listener: () => void): () => void {
  signedOut.add(listener)
  return () => signedOut.delete(listener)
}

const ours: Middleware = {
  onRequest({ request }) {
    if (tenant) request.headers.set("duly-tenant", tenant)
    return request
  },
  async onResponse({ response, schemaPath }) {
    if (response.ok) return undefined
    const kind = response.headers.get("content-type") ?? ""
    if (!kind.includes("json"))
      return answered(made(UNREADABLE, `${response.status} ${response.statusText}`, response.status))
    // Whoever asks who they are takes the answer themselves.
    if (response.status === 401 && schemaPath !== "/api/v1/whoami") {
      const { code } = (await response.clone().json()) as { code?: string }
      if (code === NOT_SIGNED_IN) for (const listener of signedOut) listener()
    }
    return undefined
  },
}

/** Like `fetch`, but a network that fails is an answer like others. */
export async function reach(request: Request): Promise<Response> {
  try {
    return await fetch(request)
  } catch (error) {
    if (request.signal.aborted) throw error
    return answered(made(UNREACHABLE, error instanceof Error ? error.message : String(error), 503))
  }
}

function answered(problem: ReturnType<typeof made>): Response {
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { "content-type": "application/problem+json" },
  })
}

export const api = createFetchClient<paths>({ baseUrl: location.origin, fetch: reach })
api.use(ours)

/** Headers for the streams, which openapi-fetch does not read. */
export function streamHeaders(lastSeen?: string): Record<string, string> {
  const headers: Record<string, string> = { accept: "text/event-stream" }
  if (tenant) headers["duly-tenant"] = tenant
  if (lastSeen !== undefined) headers["last-event-id"] = lastSeen
  return headers
}

/** Queries and mutations: `asked.useQuery("get", "/api/v1/jobs", …)`; their errors are problems. */
export const asked = createClient(api)
