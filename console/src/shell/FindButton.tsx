// Opens the finder, by a click or by Ctrl-K; loads it when it is first opened.
import { lazy, Suspense, useEffect, useState } from "react"
import { useWords } from "../parts/words"

const Finder = lazy(() => import("./Finder"))

export function FindButton() {
  const t = useWords("shell")
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      setOpen(true)
    }
    document.addEventListener("keydown", press)
    return () => document.removeEventListener("keydown", press)
  }, [])
  return (
    <>
      <button type="button" className="plain find-button" title={t("find.title")} onClick={() => setOpen(true)}>
        <span aria-hidden="true">⌕</span>
        <span className="unseen">{t("find.title")}</span> <small>Ctrl K</small>
      </button>
      {open && (
        <Suspense>
          <Finder close={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
