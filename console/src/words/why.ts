// Why something is as it is, in the chosen language, loaded when the first reason is shown. The server itself speaks English.
import { useQuery } from "@tanstack/react-query"
import { usePrefs } from "../parts/prefs"
import type { Language } from "."

const load: Record<Language, (() => Promise<{ default: Record<string, string> }>) | undefined> = {
  en: undefined,
  zh: () => import("./zh/why"),
}

/** What a kind of reason is called; nothing where the server's own words are in the chosen language, or no words are known.
 * Undefined while they are under way, so that nothing is told in one language first and then in another. */
export function useWhy(): ((kind: string) => string | undefined) | undefined {
  const { language } = usePrefs()
  const { data, isLoading } = useQuery({
    queryKey: ["why", language],
    queryFn: async () => (await load[language]?.())?.default ?? {},
    enabled: load[language] !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (isLoading) return undefined
  return (kind) => data?.[keyOf(kind)]
}

/** Who stopped it stands in the kind: `stopped by ada`. */
export function keyOf(kind: string): string {
  return kind.split(" ")[0] ?? kind
}
