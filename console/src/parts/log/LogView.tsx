// Output as it is written: follows, searches, colours, jumps to the first error, downloads. Only the lines in view are in
// the page, so a hundred thousand scroll like ten.
import { useVirtualizer } from "@tanstack/react-virtual"
import { useEffect, useMemo, useRef, useState } from "react"
import { ProblemBox } from "../ProblemBox"
import { usePrefs } from "../prefs"
import { useWords } from "../words"
import { Ansi } from "./Ansi"
import { firstError, hits } from "./lines"
import { Stamp } from "./Stamp"
import { Tools } from "./Tools"
import { useLog } from "./useLog"
import "./log.css"

const LINE_PX = 20

export function LogView({ instance, attempt }: { instance: number; attempt?: number }) {
  const t = useWords("parts")
  const { zone } = usePrefs()
  const { lines, following, problem } = useLog(instance, attempt)
  const [wanted, setWanted] = useState("")
  const [hit, setHit] = useState(0)
  const [pinned, setPinned] = useState(true)
  const [wrap, setWrap] = useState(false)
  const [times, setTimes] = useState(false)
  const place = useRef<HTMLDivElement>(null)
  const count = lines.all.length
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => place.current,
    estimateSize: () => LINE_PX,
    overscan: 20,
  })

  // biome-ignore lint/correctness/useExhaustiveDependencies: lines are one growing list; its length tells of new ones.
  const found = useMemo(() => hits(lines.all, wanted), [lines, count, wanted])
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above.
  const error = useMemo(() => firstError(lines.all), [lines, count])

  useEffect(() => {
    if (pinned && count > 0) virtual.scrollToIndex(count - 1, { align: "end" })
  }, [pinned, count, virtual])

  const goTo = (line: number) => {
    setPinned(false)
    virtual.scrollToIndex(line, { align: "center" })
  }
  const goToHit = (n: number) => {
    if (found.length === 0) return
    const at = (n + found.length) % found.length
    setHit(at)
    goTo(found[at] ?? 0)
  }
  const search = (text: string) => {
    setWanted(text)
    setHit(0)
    const first = hits(lines.all, text)[0]
    if (first !== undefined) goTo(first)
  }
  const atHit = found[hit]

  return (
    <section className="log" aria-label={t("log.title")}>
      <Tools
        {...{ instance, attempt, wanted, search, pinned, setPinned, wrap, setWrap, times, setTimes, following, count }}
        found={found.length}
        hit={hit}
        goToHit={goToHit}
        toError={error >= 0 ? () => goTo(error) : undefined}
      />
      {problem && <ProblemBox error={problem} />}
      {lines.dropped > 0 && <p className="soft">{t("log.dropped", { count: lines.dropped })}</p>}
      <div
        className="log-place"
        ref={place}
        tabIndex={0}
        role="log"
        aria-label={t("log.title")}
        aria-live="off"
        onWheel={(event) => event.deltaY < 0 && setPinned(false)}
        onKeyDown={(event) => ["PageUp", "ArrowUp", "Home"].includes(event.key) && setPinned(false)}
        data-wrap={wrap}
      >
        {count === 0 ? (
          <p className="log-none">{following === "ended" ? t("log.empty_ended") : t("log.waiting")}</p>
        ) : (
          <div className="log-all" ref={(all) => all?.style.setProperty("height", `${virtual.getTotalSize()}px`)}>
            {virtual.getVirtualItems().map((item) => {
              const line = lines.all[item.index]
              if (!line) return null
              return (
                <div
                  key={item.key}
                  data-index={item.index}
                  ref={virtual.measureElement}
                  className={`log-line log-${line.stream}${item.index === atHit ? " log-hit" : ""}`}
                  style={{ transform: `translateY(${item.start}px)` }}
                >
                  <span className="log-number" aria-hidden="true">
                    {item.index + 1 + lines.dropped}
                  </span>
                  {times && <Stamp at={line.at} zone={zone} />}
                  <span className="log-text">
                    <Ansi text={line.text} mark={wanted} />
                  </span>
                </div>
              )
            })}
          </div>
        )}
      </div>
    </section>
  )
}
