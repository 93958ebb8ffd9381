// Jobs somebody wants at hand, by tenant. Kept in this browser and nowhere else.
import { useSyncExternalStore } from "react"
import { tenantNow } from "../api/client"

const KEY = "duly-favourites"
const listeners = new Set<() => void>()
let all: Record<string, string[]> = read()

export function useFavourites() {
  // A page is drawn anew in another tenant.
  const tenant = tenantNow() ?? ""
  const kept = useSyncExternalStore(subscribe, () => all)[tenant] ?? []
  const toggle = (job: string) => {
    const next = kept.includes(job) ? kept.filter((one) => one !== job) : [...kept, job].sort()
    all = { ...all, [tenant]: next }
    try {
      localStorage.setItem(KEY, JSON.stringify(all))
    } catch {
      // A browser that keeps nothing forgets it with the page.
    }
    for (const listener of listeners) listener()
  }
  return { kept, has: (job: string) => kept.includes(job), toggle }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function read(): Record<string, string[]> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}")
    return typeof kept === "object" && kept !== null ? (kept as Record<string, string[]>) : {}
  } catch {
    return {}
  }
}
