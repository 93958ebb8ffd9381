// The console's words: one language is loaded, the chosen one. Never holds a word itself.
import i18next from "i18next"
import { initReactI18next } from "react-i18next"
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
  await i18next.use(initReactI18next).init({
    lng: language,
    fallbackLng: false,
    ns: [],
    defaultNS: "shell",
    resources: {},
    interpolation: { escapeValue: false },
    react: { useSuspense: false },
  })
  await speak(language)
}

export async function speak(language: Language): Promise<void> {
  const { default: words } = await load[language]()
  for (const [area, of] of Object.entries(words)) i18next.addResourceBundle(language, area, of, true, true)
  await i18next.changeLanguage(language)
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en"
}
