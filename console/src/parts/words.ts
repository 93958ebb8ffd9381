// The words of a page. A list asks for them a thousand times, so whoever asks is given the same function, and a phrase is
// looked up once.
import i18next, { type TFunction } from "i18next"
import type { Words } from "../words"
import { useLanguage } from "../words"

type Area = keyof Words

const known = new Map<string, unknown>()

/** Of one area of the console, or of several: then the first is meant where a phrase names none. */
export function useWords<const Of extends Area | readonly [Area, ...Area[]]>(area: Of): TFunction<Of> {
  const key = `${useLanguage()} ${area}`
  let words = known.get(key)
  if (!words) {
    words = remembering(i18next.getFixedT(null, area as Area))
    known.set(key, words)
  }
  return words as TFunction<Of>
}

type Say = (phrase: string, values?: Record<string, unknown>) => string
/** A place for a value within a phrase. */
const VALUE = /\{\{\s*(\w+)\s*\}\}/g

/** What is counted has several forms, and which one is the language's affair; any other phrase is always the same. */
function remembering(ask: unknown): Say {
  const say = ask as Say
  const known = new Map<string, string>()
  return (phrase, values) => {
    if (values && "count" in values) return say(phrase, values)
    let words = known.get(phrase)
    if (words === undefined) {
      words = say(phrase, { skipInterpolation: true })
      known.set(phrase, words)
    }
    return values ? words.replace(VALUE, (place, name) => `${values[name] ?? place}`) : words
  }
}
