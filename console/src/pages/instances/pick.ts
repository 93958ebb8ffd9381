// Which instances are picked: some of this page, of pages before it, or everything that the filters let through.
import { api } from "../../api/client"
import { done } from "../../parts/Act"
import type { Instance } from "./InstanceRows"

export type Picked = ReadonlyMap<number, Instance>
export type Query = NonNullable<NonNullable<Parameters<typeof ask>[0]>>

/** So many can be picked at once: more is for a filter and the command line. */
export const PICKED_MAX = 500
const AT_ONCE = 100

export function toggled(picked: Picked, row: Instance): Picked {
  const next = new Map(picked)
  if (!next.delete(row.id)) next.set(row.id, row)
  return next
}

/** All of a page, or none of it if all were; what was picked on others stays. */
export function toggledAll(picked: Picked, rows: Instance[]): Picked {
  const next = new Map(picked)
  const all = rows.every((row) => picked.has(row.id))
  for (const row of rows) all ? next.delete(row.id) : next.set(row.id, row)
  return next
}

/** Everything that matches, page by page, as far as so many can be picked; and whether there is more. */
export async function everything(query: Query, look = ask): Promise<{ rows: Instance[]; more: boolean }> {
  const rows: Instance[] = []
  let cursor: string | undefined
  do {
    const page = await look({ ...query, cursor, limit: Math.min(AT_ONCE, PICKED_MAX - rows.length) })
    rows.push(...page.items)
    cursor = page.next ?? undefined
  } while (cursor && rows.length < PICKED_MAX)
  return { rows, more: cursor !== undefined }
}

type Asked = { state?: string; job?: string; limit?: number; cursor?: string } & Record<string, unknown>

function ask(query: Asked): Promise<{ items: Instance[]; next?: string | null }> {
  return done(api.GET("/api/v1/instances", { params: { query: query as never } }))
}
