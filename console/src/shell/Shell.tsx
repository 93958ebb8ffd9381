// What surrounds every page: looks and words, one memory of answers per tenant, and the gate. Holds no
// page and no rule.
import { QueryClientProvider } from "@tanstack/react-query"
import { Outlet, useLocation } from "@tanstack/react-router"
import { useEffect, useState } from "react"
import { actIn } from "../api/client"
import { useIsDark } from "../parts/dark"
import { usePrefs } from "../parts/prefs"
import { useTenant } from "../parts/tenant"
import { speak } from "../words"
import { Frame } from "./Frame"
import { Gate } from "./Gate"
import { memory } from "./memory"
import { Talker } from "./Talker"

export function Shell() {
  useChosenLanguage()
  const isDark = useIsDark()
  const tenant = useTenant()
  const outside = useLocation({ select: (at) => at.pathname === "/setup" })
  useEffect(() => {
    document.documentElement.dataset.theme = isDark ? "dark" : "light"
  }, [isDark])
  // Before anything below asks.
  actIn(tenant)
  return (
    <QueryClientProvider client={memory(tenant)}>
      {outside ? (
        <Outlet />
      ) : (
        <Gate key={tenant ?? ""}>
          <Frame />
        </Gate>
      )}
      <Talker />
    </QueryClientProvider>
  )
}

function useChosenLanguage() {
  const { language } = usePrefs()
  const [, spoken] = useState(language)
  useEffect(() => {
    // What was drawn in the other language is drawn anew.
    void speak(language).then(() => spoken(language))
  }, [language])
}
