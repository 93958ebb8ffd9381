// The present second, for what counts up or down. One timer for the whole page, and none when nobody looks.
import { useSyncExternalStore } from "react"

const listeners = new Set<() => void>()
let now = Date.now()
let timer: number | undefined

/** Changes every second while `ticking`. */
export function useNow(ticking: boolean): number {
  return useSyncExternalStore(ticking ? subscribe : still, () => now)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  if (timer === undefined) {
    now = Date.now()
    timer = window.setInterval(tick, 1000)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

function still(): () => void {
  return () => {}
}

function tick() {
  now = Date.now()
  for (const listener of listeners) listener()
}
