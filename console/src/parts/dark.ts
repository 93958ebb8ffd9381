// Light or dark, as chosen or as the system says.
import { useEffect, useState } from "react"
import { usePrefs } from "./prefs"

const dark = matchMedia("(prefers-color-scheme: dark)")

export function useIsDark(): boolean {
  const { theme: chosen } = usePrefs()
  const [system, setSystem] = useState(dark.matches)
  useEffect(() => {
    const look = () => setSystem(dark.matches)
    dark.addEventListener("change", look)
    return () => dark.removeEventListener("change", look)
  }, [])
  return chosen === "auto" ? system : chosen === "dark"
}
