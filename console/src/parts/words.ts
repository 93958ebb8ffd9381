// Words for what stands in every row of a list: as `useTranslation` gives them, without listening for each row.
import i18next, { type TFunction } from "i18next"
import type { Words } from "../words"
import { usePrefs } from "./prefs"

const known = new Map<string, unknown>()

/** The page is drawn anew when the language is another, so its words are asked for once for each. */
export function useWords<Area extends keyof Words>(area: Area): TFunction<Area> {
  usePrefs()
  const key = `${i18next.language} ${area}`
  let words = known.get(key) as TFunction<Area> | undefined
  if (!words) {
    words = i18next.getFixedT(null, area) as TFunction<Area>
    known.set(key, words)
  }
  return words
}
