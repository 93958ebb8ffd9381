// What surrounds every page: looks and words, one memory of answers per tenant, and the gate. Holds no
// page and no rule.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { Outlet, useLocation } from "@tanstack/react-router"
import { useEffect, useState } from "react"
import { actIn } from "../api/client"
import { isProblem, UNREACHABLE } from "../api/problem"
import { useIsDark } from "../parts/dark"
import { usePrefs } from "../parts/prefs"
import { useTenant } from "../parts/tenant"
import { speak } from "../words"
import { Frame } from "./Frame"
import { Gate } from "./Gate"
import { Talker } from "./Talker"

const memories = new Map<string, QueryClient>()

export function Shell() {
  useLanguage()
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

/** Nothing that one tenant answered is ever shown in another. */
function memory(tenant: string | undefined): QueryClient {
  const key = tenant ?? ""
  for (const [other, client] of memories) if (other !== key) void client.cancelQueries()
  const known = memories.get(key)
  if (known) return known
  const made = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5000,
        // What the server refuses, it refuses again.
        retry: (tries, error) => tries < 3 && isProblem(error) && (error.code === UNREACHABLE || error.status === 503),
        refetchOnWindowFocus: true,
      },
    },
  })
  memories.set(key, made)
  return made
}

function useLanguage() {
  const { language } = usePrefs()
  const [, spoken] = useState(language)
  useEffect(() => {
    // What was drawn in the other language is drawn anew.
    void speak(language).then(() => spoken(language))
  }, [language])
}
