// The console's words: one language is loaded, the chosen one. Never holds a word itself.
import i18next from "i18next"
import { useSyncExternalStore } from "react"
import type en from "./en"

export const LANGUAGES = { en: "English", zh: "中文" } as const
export type Language = keyof typeof LANGUAGES
export type Words = typeof en

declare module "i18next" {
  interface CustomTypeOptions {
    defaultNS: "shell"
    resources: Words
  }
}

const load: Record<Language, () => Promise<{ default: Words }>> = {
  en: () => import("./en"),
  zh: () => import("./zh"),
}
/** What the browser asks for, of what there is. */
export function likely(): Language {
  return navigator.languages.some((one) => one.toLowerCase().startsWith("zh")) ? "zh" : "en"
}

export async function begin(language: Language): Promise<void> {
  await i18next.init({
    lng: language,
    fallbackLng: false,
    ns: [],
    defaultNS: "shell",
    resources: {},
    interpolation: { escapeValue: false },
  })
  await speak(language)
}

export async function speak(language: Language): Promise<void> {
  const { default: words } = await load[language]()
  for (const [area, of] of Object.entries(words)) i18next.addResourceBundle(language, area, of, true, true)
  await i18next.changeLanguage(language)
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en"
}

/** The one that is spoken; whoever asks is drawn anew when it is another. */
export function useLanguage(): Language {
  return useSyncExternalStore(listen, spoken)
}

function listen(listener: () => void): () => void {
  i18next.on("languageChanged", listener)
  return () => i18next.off("languageChanged", listener)
}

function spoken(): Language {
  return i18next.language as Language
}
