// A long list is on the screen at once and whole a moment later: at first only as many rows are drawn as a screen can show.
import { startTransition, useEffect, useState } from "react"

/** No row is lower than this. */
export const ROW_PX = 33

/** How many of so many to draw now. */
export function useScreenful(count: number): number {
  const [shown, setShown] = useState(() => Math.ceil(innerHeight / ROW_PX))
  const rest = count > shown
  useEffect(() => {
    if (!rest) return
    // The task after the next frame: those above are painted by then.
    let painted: ReturnType<typeof setTimeout> | undefined
    const frame = requestAnimationFrame(() => {
      painted = setTimeout(() => startTransition(() => setShown(Number.POSITIVE_INFINITY)))
    })
    return () => {
      cancelAnimationFrame(frame)
      clearTimeout(painted)
    }
  }, [rest])
  return Math.min(count, shown)
}
