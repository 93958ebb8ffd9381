// What the person who is signed in may do, from what the server said. Hides nothing of security: the server refuses by
// itself; this only explains beforehand.
import { createContext, useContext, useMemo } from "react"
import { asked, type Schemas } from "../api/client"
import { useTenant } from "./tenant"
import { useWords } from "./words"

type Right = Schemas["RightView"]
/** Where something lies: some rights are only for a folder or for labels. */
export type Place = { folder?: string | null; labels?: Record<string, string> }

export function useWhoami() {
  return asked.useQuery("get", "/api/v1/whoami", undefined, { staleTime: 60_000, retry: false })
}

type May = (permission: string, place?: Place) => boolean
const Allowed = createContext<May>(() => false)

/** Reads once what all below ask: a list has a hundred buttons. */
export function Rights({ children }: { children: React.ReactNode }) {
  const { data } = useWhoami()
  const tenant = useTenant() ?? data?.tenant
  const may = useMemo<May>(
    () => (permission, place) => (data?.rights ?? []).some((right) => holds(right, permission, tenant, place)),
    [data?.rights, tenant],
  )
  return <Allowed value={may}>{children}</Allowed>
}

export function useMay(): May {
  return useContext(Allowed)
}

/** What belongs to the installation: rights in one tenant say nothing about it. */
const OF_INSTALLATION = ["tenant", "person", "role", "server", "system"]

/** Without a place: whether it is held anywhere in the tenant. */
export function holds(right: Right, permission: string, tenant: string | undefined, place?: Place): boolean {
  const [about] = permission.split(".")
  if (right.tenant !== null && (right.tenant !== tenant || OF_INSTALLATION.includes(about ?? ""))) return false
  if (!right.permissions.includes(permission)) return false
  if (!place) return true
  const folder = right.folder ?? ""
  const within = folder === "" || place.folder === folder || (place.folder ?? "").startsWith(`${folder}/`)
  return within && Object.entries(right.labels).every(([name, value]) => place.labels?.[name] === value)
}

/** Why a button cannot be pressed, in words; nothing if it can. */
export function useWhyNot(): (permission: string, place?: Place) => string | undefined {
  const may = useMay()
  const t = useWords("parts")
  return (permission, place) => (may(permission, place) ? undefined : t("may.lacks", { permission }))
}
