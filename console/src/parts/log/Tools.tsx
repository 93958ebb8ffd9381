// The row above a log: search, follow, wrap, times, the first error, download.

import { api } from "../../api/client"
import { save } from "../save"
import { talk } from "../talk"
import { useWords } from "../words"
import type { Following } from "./useLog"

type Props = {
  instance: number
  attempt: number | undefined
  wanted: string
  search: (text: string) => void
  found: number
  hit: number
  goToHit: (n: number) => void
  toError: (() => void) | undefined
  pinned: boolean
  setPinned: (on: boolean) => void
  wrap: boolean
  setWrap: (on: boolean) => void
  times: boolean
  setTimes: (on: boolean) => void
  following: Following
  count: number
}

export function Tools(props: Props) {
  const t = useWords("parts")
  const { wanted, found, hit, goToHit, toError } = props
  return (
    <div className="log-tools">
      <input
        type="search"
        value={wanted}
        placeholder={t("log.search")}
        aria-label={t("log.search")}
        onChange={(event) => props.search(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && goToHit(hit + (event.shiftKey ? -1 : 1))}
      />
      {wanted !== "" && (
        <>
          <span className="soft" aria-live="polite">
            {found === 0 ? t("log.no_hits") : t("log.hits", { at: hit + 1, count: found })}
          </span>
          <button type="button" className="plain" aria-label={t("log.previous")} onClick={() => goToHit(hit - 1)}>
            ↑
          </button>
          <button type="button" className="plain" aria-label={t("log.next")} onClick={() => goToHit(hit + 1)}>
            ↓
          </button>
        </>
      )}
      <Switch on={props.pinned} set={props.setPinned} words={t("log.follow")} hint={t("log.follow_hint")} />
      <Switch on={props.wrap} set={props.setWrap} words={t("log.wrap")} />
      <Switch on={props.times} set={props.setTimes} words={t("log.times")} />
      <button
        type="button"
        className="plain"
        disabled={!toError}
        title={toError ? undefined : t("log.no_error")}
        onClick={toError}
      >
        {t("log.to_error")}
      </button>
      <button type="button" className="plain" onClick={() => void download(props.instance, props.attempt)}>
        {t("log.download")}
      </button>
      <span className="soft log-state" role="status">
        {props.following === "lost" && `${t("log.lost")} · `}
        {props.following === "ended" && `${t("log.ended")} · `}
        {t("log.lines", { count: props.count })}
      </span>
    </div>
  )
}

function Switch({ on, set, words, hint }: { on: boolean; set: (on: boolean) => void; words: string; hint?: string }) {
  return (
    <label title={hint}>
      <input type="checkbox" checked={on} onChange={(event) => set(event.target.checked)} /> {words}
    </label>
  )
}

async function download(instance: number, attempt: number | undefined) {
  const { data, error } = await api.GET("/api/v1/instances/{id}/log", {
    params: { path: { id: instance }, query: { attempt } },
    parseAs: "blob",
  })
  if (error || !data) return talk.problem(error)
  save(data as Blob, `duly-${instance}${attempt === undefined ? "" : `-${attempt}`}.log`)
}
