// What the server notes beside planned times, in the chosen language, loaded when the first note is shown. The server itself
// speaks English; what no pattern knows is told as the server told it.
import { useQuery } from "@tanstack/react-query"
import { type Language, useLanguage } from "."

/** What a note says, and what it is called; `$1` is what it names. */
export type Notes = [says: RegExp, words: string][]

const load: Record<Language, (() => Promise<{ default: Notes }>) | undefined> = {
  en: undefined,
  zh: () => import("./zh/notes"),
}

/** Undefined while the words are under way, so that nothing is told in one language first and then in another. */
export function useNote(note: string | null | undefined): string | null | undefined {
  const language = useLanguage()
  const { data, isLoading } = useQuery({
    queryKey: ["notes", language],
    queryFn: async () => (await load[language]?.())?.default ?? [],
    enabled: load[language] !== undefined && Boolean(note),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return isLoading ? undefined : note && told(note, data ?? [])
}

/** Several notes are one sentence of the server. */
export function told(note: string, notes: Notes): string {
  const one = (part: string) => {
    const found = notes.find(([says]) => says.test(part))
    return found ? part.replace(...found) : part
  }
  return notes.length > 0 ? note.split("; ").map(one).join("；") : note
}
