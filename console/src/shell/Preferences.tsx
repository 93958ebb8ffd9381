// What somebody prefers: language, appearance, zone.
import { useId } from "react"
import { type Appearance, allZones, browserZone, prefer, usePrefs } from "../parts/prefs"
import { useWords } from "../parts/words"
import { LANGUAGES, type Language } from "../words"

export function Preferences() {
  const t = useWords("shell")
  const { theme } = usePrefs()
  const id = useId()
  return (
    <div className="preferences">
      <LanguageChoice />
      <label htmlFor={`${id}theme`}>{t("theme")}</label>
      <select id={`${id}theme`} value={theme} onChange={(event) => prefer({ theme: event.target.value as Appearance })}>
        {(["auto", "light", "dark"] as const).map((one) => (
          <option key={one} value={one}>
            {t(`themes.${one}`)}
          </option>
        ))}
      </select>
      <ZoneChoice />
    </div>
  )
}

export function LanguageChoice() {
  const t = useWords("shell")
  const { language } = usePrefs()
  const id = useId()
  return (
    <>
      <label htmlFor={id}>{t("language")}</label>
      <select id={id} value={language} onChange={(event) => prefer({ language: event.target.value as Language })}>
        {Object.entries(LANGUAGES).map(([code, name]) => (
          <option key={code} value={code} lang={code}>
            {name}
          </option>
        ))}
      </select>
    </>
  )
}

export function ZoneChoice() {
  const t = useWords("shell")
  const { zone } = usePrefs()
  const id = useId()
  return (
    <>
      <label htmlFor={id}>{t("zone")}</label>
      <select id={id} value={zone ?? ""} onChange={(event) => prefer({ zone: event.target.value || undefined })}>
        <option value="">{t("zone_browser", { zone: browserZone() })}</option>
        {allZones().map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </>
  )
}
