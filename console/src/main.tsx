// Starts the console: words first, so that nothing is ever shown without them.
import { RouterProvider } from "@tanstack/react-router"
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { prefs } from "./parts/prefs"
import { router } from "./router"
import { begin } from "./words"
import { isAskingForProblems } from "./words/problems"
import "./shell/base.css"

const place = document.getElementById("console")
if (!place) throw new Error("the page has a place for the console")

// After an upgrade of the server the files of a page that was never opened are gone: the new page has its own.
addEventListener("vite:preloadError", (event) => {
  if (isAskingForProblems()) return
  const last = Number(sessionStorage.getItem("duly-loaded-anew") ?? 0)
  if (Date.now() - last < 10_000) return
  sessionStorage.setItem("duly-loaded-anew", String(Date.now()))
  event.preventDefault()
  location.reload()
})

await begin(prefs().language)
createRoot(place).render(
  <StrictMode>
    <RouterProvider router={router} />
  </StrictMode>,
)
