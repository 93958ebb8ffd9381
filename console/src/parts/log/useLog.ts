// Follows the output of an attempt until it has ended, and goes on after a break where it was. Tells the page at most once
// per picture, however fast lines come.
import { useEffect, useRef, useState } from "react"
import { isProblem, type Problem } from "../../api/problem"
import { readEvents, type Sent } from "../../api/sse"
import { type Frame, Lines } from "./lines"

export type Following = "waiting" | "live" | "lost" | "ended"

export function useLog(instance: number, attempt: number | undefined) {
  const lines = useRef(new Lines())
  const [, redraw] = useState(0)
  const [following, setFollowing] = useState<Following>("waiting")
  const [problem, setProblem] = useState<Problem>()

  useEffect(() => {
    lines.current = new Lines()
    setFollowing("waiting")
    setProblem(undefined)
    const control = new AbortController()
    let picture: number | undefined
    const drawSoon = () => {
      picture ??= requestAnimationFrame(() => {
        picture = undefined
        redraw((n) => n + 1)
      })
    }
    const take = (sent: Sent): boolean => {
      if (sent.name === "frame") lines.current.push(JSON.parse(sent.data) as Frame)
      drawSoon()
      return sent.name === "end"
    }
    void follow(address(instance, attempt), control.signal, take, setFollowing).catch((error) => {
      if (!control.signal.aborted && isProblem(error)) setProblem(error)
    })
    return () => {
      control.abort()
      if (picture !== undefined) cancelAnimationFrame(picture)
    }
  }, [instance, attempt])

  return { lines: lines.current, following, problem }
}

function address(instance: number, attempt: number | undefined): string {
  return `/api/v1/instances/${instance}/log?follow=true${attempt === undefined ? "" : `&attempt=${attempt}`}`
}

async function follow(
  path: string,
  signal: AbortSignal,
  take: (sent: Sent) => boolean,
  tell: (how: Following) => void,
) {
  let lastSeen: string | undefined
  let over = false
  while (!over && !signal.aborted) {
    try {
      await readEvents(path, { lastSeen, signal, opened: () => tell("live") }, (sent) => {
        if (sent.id !== undefined) lastSeen = sent.id
        over = take(sent) || over
      })
    } catch (error) {
      // What is refused stays refused; what broke is tried again.
      if (isProblem(error) || signal.aborted) throw error
    }
    if (over) return tell("ended")
    tell("lost")
    await new Promise((done) => setTimeout(done, 1000))
  }
}
