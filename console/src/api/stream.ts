// Keeps what is shown true: follows the server's events, says which queries they concern, and tells of failures. Resumes
// after a break where it was. Never changes anything.
import type { Query, QueryClient } from "@tanstack/react-query"
import type { Schemas } from "./client"
import { isProblem } from "./problem"
import { readEvents, type Sent } from "./sse"

export type Event = Schemas["EventView"]
/** `refused`: this person may not follow events, pages show what was true when they were loaded. */
export type Live = "connecting" | "live" | "lost" | "refused"

const SILENCE_MS = 30_000
const AGAIN_MS = [500, 1000, 2000, 5000, 10_000]
/** Queries are asked anew at most this often, however many events come. */
const GATHER_MS = 1000
/** Browsers give a site six connections: a tab nobody looks at gives its own back after a while. */
const HIDDEN_MS = 60_000

const RESET: Event = { id: 0, at: "", kind: "reset" }

type Hooks = {
  state: (live: Live) => void
  event: (event: Event) => void
  /** What happened since this instant, on the server's clock, was not told and will not be. */
  missed: (since: number) => void
}

/** Follows until the answer is called. */
export function followEvents(queries: QueryClient, hooks: Hooks): () => void {
  let stopped = false
  let lastSeen: string | undefined
  let current: AbortController | undefined
  const clock = serverClock()
  /** When the server was last heard, and when it was before the last break. */
  let heard: number | undefined
  let broken: number | undefined
  const concerned = gatherer(queries)

  const take = (sent: Sent) => {
    if (sent.id !== undefined) lastSeen = sent.id
    const event = JSON.parse(sent.data) as Event
    concerned(event)
    hooks.event(event)
    if (event.kind === "reset") hooks.missed(broken ?? heard ?? clock.now())
    broken = undefined
  }

  const opened = (answer: Response) => {
    clock.set(answer.headers.get("date"))
    broken = heard
    heard = clock.now()
    hooks.state("live")
    // Without the number of an event to go on from, the server cannot know what we have not seen.
    if (broken !== undefined && lastSeen === undefined) {
      concerned(RESET)
      hooks.missed(broken)
    }
  }

  const once = async () => {
    const control = new AbortController()
    current = control
    let watchdog = window.setTimeout(() => control.abort(), SILENCE_MS)
    const alive = () => {
      heard = clock.now()
      clearTimeout(watchdog)
      watchdog = window.setTimeout(() => control.abort(), SILENCE_MS)
    }
    try {
      await readEvents("/api/v1/events", { lastSeen, signal: control.signal, opened, alive }, take)
    } finally {
      clearTimeout(watchdog)
    }
  }

  const run = async () => {
    for (let tries = 0; !stopped; tries++) {
      await shown()
      const begun = Date.now()
      try {
        await once()
      } catch (error) {
        if (isProblem(error) && (error.status === 401 || error.status === 403)) {
          hooks.state("refused")
          return
        }
      }
      if (stopped) return
      if (Date.now() - begun > SILENCE_MS) tries = 0
      if (!document.hidden) hooks.state("lost")
      await sleep(AGAIN_MS[Math.min(tries, AGAIN_MS.length - 1)] ?? 1000)
    }
  }

  const letGo = whenHiddenFor(HIDDEN_MS, () => current?.abort())
  void run()
  return () => {
    stopped = true
    letGo()
    current?.abort()
  }
}

/** The server's clock, by what it says about itself: a browser's may be wrong by hours. */
export function serverClock() {
  let ahead = 0
  return {
    now: () => Date.now() + ahead,
    set: (said: string | null) => {
      const told = Date.parse(said ?? "")
      ahead = Number.isNaN(told) ? 0 : told - Date.now()
    },
  }
}

/** Gathers what events are about and asks anew, at most once a second; the first one at once. */
function gatherer(queries: QueryClient): (event: Event) => void {
  let due = false
  let last = 0
  let gathered: Event[] = []
  const flush = () => {
    due = false
    last = Date.now()
    const events = gathered
    gathered = []
    void queries.invalidateQueries({ predicate: (query) => events.some((event) => concerns(event, query)) })
  }
  return (event) => {
    // Under a flood a reset is shorter than a list.
    if (gathered.length < 500) gathered.push(event)
    else gathered = [{ ...event, kind: "reset" }]
    if (due) return
    due = true
    setTimeout(flush, Math.max(0, last + GATHER_MS - Date.now()))
  }
}

/** Whether a query may be answered differently after an event. */
export function concerns(event: Event, query: Pick<Query, "queryKey">): boolean {
  const [, path, init] = query.queryKey as [string, string, { params?: { path?: Record<string, unknown> } } | undefined]
  if (typeof path !== "string" || path === "/api/v1/whoami") return false
  if (event.kind === "reset") return true
  const about = path.split("/")[3]
  const named = init?.params?.path
  switch (event.kind) {
    case "instance_created":
    case "instance_changed":
    case "instance_ended":
    case "not_started_in_time":
    case "not_finished_in_time":
    case "times_missed":
      if (about === "instances") return named === undefined || named.id === event.instance
      if (about === "jobs") return named === undefined || named.name === event.job
      return about === "stats" || about === "overview" || about === "resources"
    case "job_changed":
    case "job_removed":
    case "job_held":
      return about === "jobs"
        ? named === undefined || named.name === event.job
        : ["stats", "upcoming", "quarantine", "secrets"].includes(about ?? "")
    case "agent_online":
    case "agent_silent":
    case "agent_changed":
      return about === "agents" || about === "pools" || about === "stats"
    case "clock_jumped":
      return about === "health"
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms))
}

function shown(): Promise<void> {
  if (!document.hidden) return Promise.resolve()
  return new Promise((done) => {
    const look = () => {
      if (document.hidden) return
      document.removeEventListener("visibilitychange", look)
      done()
    }
    document.addEventListener("visibilitychange", look)
  })
}

function whenHiddenFor(ms: number, act: () => void): () => void {
  let timer: number | undefined
  const look = () => {
    clearTimeout(timer)
    if (document.hidden) timer = window.setTimeout(act, ms)
  }
  document.addEventListener("visibilitychange", look)
  return () => {
    clearTimeout(timer)
    document.removeEventListener("visibilitychange", look)
  }
}
