// An instant in the chosen zone; the other zone and how far away it is are told on hover and, outside of lists, on focus.
import { createContext, useContext } from "react"
import { useNow } from "./now"
import { browserZone, usePrefs } from "./prefs"
import { inZone, length, otherZone, relative } from "./time"
import { useWords } from "./words"

/** In a list of a hundred rows a stop at each time would keep everybody who goes by keyboard from the end of it. */
export const InRow = createContext(false)

export function Moment({ at }: { at: string | null | undefined }) {
  const { zone: chosen, language } = usePrefs()
  const t = useWords("parts")
  const inRow = useContext(InRow)
  if (!at) return <span>{t("moment.none")}</span>
  const zone = chosen ?? browserZone()
  const date = new Date(at)
  // When somebody points at it: a list has a hundred of them.
  const tell = (event: React.SyntheticEvent<HTMLElement>) => {
    const other = otherZone(zone)
    const both = [zone, other].map((one) => `${inZone(date, one)} ${one}`)
    const told = [relative(date, new Date(), language), ...both].join("\n")
    event.currentTarget.title = told
    // Browsers show a title to a mouse only.
    event.currentTarget.dataset.told = told
  }
  return (
    <time dateTime={at} onPointerEnter={tell} onFocus={tell} tabIndex={inRow ? undefined : 0} className="moment">
      {inZone(date, zone)}
    </time>
  )
}

/** How long something took, or takes until now. */
export function Took({ from, to }: { from: string | null | undefined; to: string | null | undefined }) {
  const t = useWords("parts")
  const now = useNow(Boolean(from) && !to)
  if (!from) return <span>{t("moment.none")}</span>
  const end = to ? Date.parse(to) : now
  return <span className="number">{length(Math.max(0, end - Date.parse(from)))}</span>
}
