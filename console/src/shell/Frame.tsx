// The frame around a page: top bar, menu, the page itself. A plain grid of our own.
import { Outlet, useLocation } from "@tanstack/react-router"
import { Suspense, useEffect, useRef, useState } from "react"
import { useWords } from "../parts/words"
import { Loading } from "./Loading"
import { useLive } from "./live"
import { Menu } from "./Menu"
import { TopBar } from "./TopBar"
import "./frame.css"

export function Frame() {
  const t = useWords("shell")
  const live = useLive()
  const [open, setOpen] = useState(false)
  const path = useLocation({ select: (at) => at.pathname })
  const before = useRef(path)
  useEffect(() => {
    if (before.current === path) return
    before.current = path
    setOpen(false)
    // Whoever does not see the page change hears it, and goes on by keyboard from its beginning. Not before it is painted:
    // to move the focus all of it must be laid out.
    const moved = requestAnimationFrame(() => setTimeout(focusContent))
    return () => cancelAnimationFrame(moved)
  }, [path])
  return (
    <div className="frame" data-menu={open ? "open" : "shut"}>
      <a className="skip" href="#content">
        {t("skip")}
      </a>
      <TopBar live={live} menuOpen={open} onMenu={() => setOpen(!open)} />
      <Menu onGo={() => setOpen(false)} />
      <main id="content" tabIndex={-1}>
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
    </div>
  )
}

function focusContent() {
  const content = document.getElementById("content")
  // Somebody may be in it by now: a page that begins with a field puts itself there.
  if (!content?.contains(document.activeElement)) content?.focus({ preventScroll: true })
}
