// Whoever leaves with something unsaved is asked first, whether they go to another page or shut the tab.
import { useBlocker } from "@tanstack/react-router"
import { useRef } from "react"
import { talk } from "./talk"
import { useWords } from "./words"

/** Answers what to call when it is saved and the page goes elsewhere by itself. */
export function useUnsaved(isUnsaved: boolean): () => void {
  const t = useWords("parts")
  const saved = useRef(false)
  const holds = () => isUnsaved && !saved.current
  useBlocker({
    shouldBlockFn: async ({ current, next }) => {
      // The form and the file are one page.
      if (!holds() || current.pathname === next.pathname) return false
      const leave = await talk.ask({
        title: t("unsaved.ask"),
        text: t("unsaved.hint"),
        yes: t("unsaved.leave"),
        danger: true,
      })
      return !leave
    },
    enableBeforeUnload: holds,
  })
  return () => {
    saved.current = true
  }
}
