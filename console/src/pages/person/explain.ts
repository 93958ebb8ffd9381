// Why somebody may do something: which grants reach them, and what each of them gives. The same rules by which the server
// decides, for explaining only; the server never asks this.
import type { Schemas } from "../../api/client"

type Grant = Schemas["GrantView"]
type Role = Schemas["RoleView"]

/** A permission that a grant gives, or would give if it reached far enough. */
export type Reason = { permission: string; grant: Grant; counts: Counts }
export type Counts = "yes" | "only_installation" | "no_place"

/** Belong to the whole installation: a grant in one tenant does not speak of them. */
const OF_INSTALLATION = ["tenant", "person", "role", "server", "system"]
/** Lie in folders and carry labels, so that a grant for some of them can speak of these. */
const PLACED = ["job", "instance", "log", "variable", "secret"]

export function explain(person: { name: string; groups: string[] }, grants: Grant[], roles: Role[]): Reason[] {
  const given = new Map(roles.map((role) => [role.name, role.permissions]))
  return grants
    .filter((grant) => reaches(grant, person))
    .flatMap((grant) =>
      (given.get(grant.role) ?? []).map((permission) => ({ permission, grant, counts: counts(grant, permission) })),
    )
}

function reaches(grant: Grant, person: { name: string; groups: string[] }): boolean {
  return grant.person === person.name || (grant.group !== null && person.groups.includes(grant.group))
}

function counts(grant: Grant, permission: string): Counts {
  const kind = permission.split(".")[0] ?? ""
  if (grant.tenant !== null && OF_INSTALLATION.includes(kind)) return "only_installation"
  const somewhere = grant.folder !== null || Object.keys(grant.labels).length > 0
  return somewhere && !PLACED.includes(kind) ? "no_place" : "yes"
}
