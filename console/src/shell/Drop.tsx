// A small panel under a button of the top bar: opens by click or keyboard, shuts by Escape, a click elsewhere, or a link in it.
import { useEffect, useRef } from "react"

/** `mark` is a sign that the label explains, or words of its own. */
export function Drop({ label, mark, children }: { label: string; mark: string; children: React.ReactNode }) {
  const own = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const shut = (event: MouseEvent | KeyboardEvent) => {
      const details = own.current
      if (!details?.open) return
      if (event instanceof KeyboardEvent) {
        if (event.key !== "Escape") return
        details.querySelector("summary")?.focus()
      } else if (details.contains(event.target as Node) && !(event.target as Element).closest("a")) {
        return
      }
      details.open = false
    }
    document.addEventListener("click", shut)
    document.addEventListener("keydown", shut)
    return () => {
      document.removeEventListener("click", shut)
      document.removeEventListener("keydown", shut)
    }
  }, [])
  return (
    <details className="drop" ref={own}>
      <summary aria-label={`${label}: ${mark}`} title={mark.length > 1 ? `${label}: ${mark}` : label}>
        <span aria-hidden="true">{mark}</span>
      </summary>
      <div className="drop-panel">{children}</div>
    </details>
  )
}
