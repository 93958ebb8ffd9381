// What differs between before and after, field by field. Knows nothing of what the fields mean.

export type Changed = { path: string; before: string | undefined; after: string | undefined }

export function changes(before: unknown, after: unknown): Changed[] {
  const old = flat(before)
  const fresh = flat(after)
  const paths = [...new Set([...old.keys(), ...fresh.keys()])].sort()
  return paths.map((path) => ({ path, before: old.get(path), after: fresh.get(path) }))
}

function flat(value: unknown, path = "", into = new Map<string, string>()): Map<string, string> {
  if (value === undefined || value === null) {
    if (path !== "" && value === null) into.set(path, "null")
    return into
  }
  if (typeof value !== "object" || Array.isArray(value)) {
    into.set(path, typeof value === "string" ? value : JSON.stringify(value))
    return into
  }
  for (const [name, inner] of Object.entries(value)) flat(inner, path ? `${path}.${name}` : name, into)
  return into
}
