// The page's name in the browser's tab.
import { useEffect } from "react"

export function useTitle(title: string) {
  useEffect(() => {
    document.title = `${title} · Duly`
  }, [title])
}
