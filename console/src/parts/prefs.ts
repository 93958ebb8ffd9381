// What somebody prefers in this browser: language, appearance, zone. Kept here and nowhere else.
import { useSyncExternalStore } from "react"
import { LANGUAGES, type Language, likely } from "../words"

export type Appearance = "auto" | "light" | "dark"
/** No zone: the browser's own. */
export type Prefs = { language: Language; theme: Appearance; zone: string | undefined }

const KEY = "duly-preferences"
const listeners = new Set<() => void>()
let now: Prefs = read()

export function prefs(): Prefs {
  return now
}

export function prefer(change: Partial<Prefs>) {
  now = { ...now, ...change }
  try {
    localStorage.setItem(KEY, JSON.stringify(now))
  } catch {
    // A browser that keeps nothing forgets it with the page.
  }
  for (const listener of listeners) listener()
}

export function usePrefs(): Prefs {
  return useSyncExternalStore(subscribe, prefs)
}

let ownZone: string | undefined

/** Asking costs a tenth of a frame, and a list asks a hundred times. */
export function browserZone(): string {
  ownZone ??= Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC"
  return ownZone
}

export function allZones(): string[] {
  const known = Intl.supportedValuesOf("timeZone")
  return known.includes("UTC") ? known : ["UTC", ...known]
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function read(): Prefs {
  const fresh: Prefs = { language: likely(), theme: "auto", zone: undefined }
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Prefs>
    const language = kept.language && kept.language in LANGUAGES ? kept.language : fresh.language
    const theme = kept.theme && ["auto", "light", "dark"].includes(kept.theme) ? kept.theme : fresh.theme
    return { language, theme, zone: kept.zone && allZones().includes(kept.zone) ? kept.zone : undefined }
  } catch {
    return fresh
  }
}
