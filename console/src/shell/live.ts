// Follows the server's events while somebody is signed in, and pops up what went wrong. Shows a few, counts the rest.
import { useQueryClient } from "@tanstack/react-query"
import i18next from "i18next"
import { useEffect, useState } from "react"
import { api } from "../api/client"
import { type Event, followEvents, type Live } from "../api/stream"
import { talk } from "../parts/talk"

const SHOWN = 3
const WITHIN_MS = 10_000
/** Of those that failed while the connection was lost. */
const MISSED_MAX = 100
/** An instance that ends now was planned at most this long ago, but for few. */
const LONG_MS = 86_400_000
/** The server tells its clock in whole seconds. */
const SLACK_MS = 2_000

export function useLive(): Live {
  const queries = useQueryClient()
  const [live, setLive] = useState<Live>("connecting")
  useEffect(() => {
    const event = popUps()
    const missed = (since: number) => void failuresSince(since).then((events) => events.forEach(event))
    return followEvents(queries, { state: setLive, event, missed })
  }, [queries])
  return live
}

/** What failed while nobody told us, oldest first: asked for by planned time, which is before the end. */
async function failuresSince(since: number): Promise<Event[]> {
  const from = new Date(since - LONG_MS).toISOString()
  const query = { state: "failed,dead", from, limit: MISSED_MAX }
  const { data } = await api.GET("/api/v1/instances", { params: { query } })
  const late = (data?.items ?? []).filter((one) => one.ended_at && Date.parse(one.ended_at) >= since - SLACK_MS)
  return late
    .map(({ id, job, state, ended_at, message }): Event => {
      return { id, at: ended_at ?? "", kind: "instance_ended", instance: id, job, state, message }
    })
    .reverse()
}

/** A flood of failures is one pop-up with a number. */
function popUps(): (event: Event) => void {
  let recent: number[] = []
  let more = 0
  let told: string[] = []
  return (event) => {
    const kind = wrong(event)
    const key = `${kind} ${event.instance} ${event.at}`
    if (!kind || told.includes(key)) return
    told = [...told.slice(-MISSED_MAX), key]
    const now = Date.now()
    recent = recent.filter((at) => now - at < WITHIN_MS)
    if (recent.length === 0) more = 0
    const t = i18next.getFixedT(null, "shell")
    if (recent.length < SHOWN) {
      recent.push(now)
      const job = event.job ?? t("popup.some_job")
      const link = event.instance
        ? { to: address(`/ui/instances/${event.instance}`), words: t("popup.look") }
        : undefined
      talk.popup({ key, title: t(`popup.${kind}`, { job }), text: event.message ?? undefined, link })
    } else {
      more += 1
      const link = { to: address("/ui/instances?state=failed,dead"), words: t("popup.look") }
      talk.popup({ key: "more", title: t("popup.more", { count: more }), link })
    }
  }
}

function wrong(event: Event): "failed" | "dead" | "not_started_in_time" | "not_finished_in_time" | undefined {
  if (event.kind === "not_started_in_time" || event.kind === "not_finished_in_time") return event.kind
  if (event.kind !== "instance_ended") return undefined
  return event.state === "failed" || event.state === "dead" ? event.state : undefined
}

/** In the tenant that is looked at. */
function address(to: string): string {
  const tenant = new URLSearchParams(location.search).get("tenant")
  return tenant ? `${to}${to.includes("?") ? "&" : "?"}tenant=${encodeURIComponent(tenant)}` : to
}
