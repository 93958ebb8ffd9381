// Every permission there is, by what it is about. Never decides who has one.

export const KINDS = {
  job: ["see", "run", "edit", "code"],
  instance: ["see", "run", "serve"],
  log: ["see"],
  pool: ["see", "edit"],
  resource: ["see", "edit"],
  agent: ["see", "edit", "serve"],
  variable: ["see", "edit"],
  secret: ["see", "edit"],
  channel: ["see", "edit"],
  member: ["see", "edit"],
  audit: ["see"],
  tenant: ["see", "edit"],
  person: ["see", "edit"],
  role: ["see", "edit"],
  server: ["see", "edit"],
  system: ["see", "edit"],
} as const

export type Kind = keyof typeof KINDS
/** `job_run`, under which its words are. */
export type PermissionKey = { [K in Kind]: `${K}_${(typeof KINDS)[K][number]}` }[Kind]

export const PERMISSIONS: readonly string[] = Object.entries(KINDS).flatMap(([kind, actions]) =>
  actions.map((action) => `${kind}.${action}`),
)

export function keyOf(permission: string): PermissionKey | undefined {
  return PERMISSIONS.includes(permission) ? (permission.replace(".", "_") as PermissionKey) : undefined
}
