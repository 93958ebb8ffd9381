// What a script's page needs to know about jobs: which script a job has, when it was another, and how to try one aside.
import type { Schemas } from "../../api/client"
import { type Body, longOf } from "../editor/draft"

export const SCRIPTS = ["sh", "python", "node", "php", "powershell"] as const
export type Script = (typeof SCRIPTS)[number]
export type ScriptVersion = { version: number; at: string; by: string; source: string }

export function scriptOf(body: Body): Script | undefined {
  return SCRIPTS.find((one) => body[one] != null)
}

/** Versions in which the script became another, newest first. */
export function scriptVersions(versions: Schemas["JobVersionView"][], kind: Script): ScriptVersion[] {
  const all = versions.map((one) => ({
    version: one.version,
    at: one.created_at,
    by: one.created_by,
    source: String(longOf(one.body as unknown as Body, kind).source ?? ""),
  }))
  return all.filter((one, at) => all[at + 1]?.source !== one.source)
}

/** The same job beside itself: nothing starts it but who tries it, and nothing follows from it. */
export function trialOf(body: Body, name: string, description: string): Body {
  const { cron, every, delay, once, after, mode, not_started_by, not_finished_by, retry, ...rest } = body
  return { ...rest, job: `${name}.try`, description, manual: true, mode: "enabled" }
}
