// How it went in the last day or week, as bars; each leads to its instances. What is past is asked for once.
import { useQueries } from "@tanstack/react-query"
import { Link, useSearch } from "@tanstack/react-router"
import { api } from "../../api/client"
import { done } from "../../parts/Act"
import { browserZone, usePrefs } from "../../parts/prefs"
import { inZone } from "../../parts/time"
import { useWords } from "../../parts/words"
import { useMinute } from "./DashboardPage"
import { buckets, told } from "./figures"

const HOUR_MS = 3_600_000
/** How many bars of what length, and which part of the time stands below each so many. */
const SPANS = {
  day: { count: 24, ms: HOUR_MS, every: 6, shown: [11, 16] },
  week: { count: 28, ms: 6 * HOUR_MS, every: 4, shown: [5, 10] },
} as const
/** How long the counts of a past bucket are believed: what was open in it may end later. */
const PAST_MS = 300_000

export function History() {
  const t = useWords("monitor")
  const zone = usePrefs().zone ?? browserZone()
  const { span } = useSearch({ from: "/dashboard" })
  const minute = useMinute()
  const { count, ms, every, shown } = SPANS[span ?? "day"]
  const all = buckets(minute + 1, count, ms)
  const asked = useQueries({
    queries: all.map((query, at) => ({
      queryKey: ["history", query.from, query.to, at === all.length - 1 ? minute : 0],
      queryFn: () => done(api.GET("/api/v1/stats", { params: { query } })),
      staleTime: PAST_MS,
    })),
  })
  const bars = all.map((bucket, at) => ({ ...bucket, ...told(asked[at]?.data?.instances ?? {}) }))
  const most = Math.max(1, ...bars.map((bar) => bar.good + bar.bad + bar.other))
  return (
    <section className="card" aria-labelledby="history">
      <h2 id="history">{t("dashboard.history")}</h2>
      <nav className="tabs" aria-label={t("dashboard.history")}>
        {(["day", "week"] as const).map((one) => (
          <Link
            key={one}
            to="."
            search={(before) => ({ ...before, span: one === "week" ? one : undefined }) as never}
            replace
            resetScroll={false}
            activeProps={{ className: "" }}
            className={one === (span ?? "day") ? "active" : undefined}
          >
            {t(`dashboard.${one}`)}
          </Link>
        ))}
      </nav>
      <div className="bars-framed">
        <div className="bars-scale soft number" aria-hidden="true">
          <span>{most}</span>
          <span>0</span>
        </div>
        <div className="bars-chart">
          {bars.map((bar) => {
            const at = inZone(new Date(bar.from), zone).slice(5, 16)
            const words = t("dashboard.bar", { at, good: bar.good, bad: bar.bad, other: bar.other })
            return (
              <Link
                key={bar.from}
                to="/instances"
                search={{ from: bar.from, to: bar.to }}
                aria-label={words}
                title={words}
              >
                <svg viewBox="0 0 10 100" preserveAspectRatio="none" aria-hidden="true">
                  <Part y={0} height={(bar.bad / most) * 100} tone="bad" />
                  <Part y={(bar.bad / most) * 100} height={(bar.good / most) * 100} tone="good" />
                  <Part y={((bar.bad + bar.good) / most) * 100} height={(bar.other / most) * 100} tone="calm" />
                </svg>
              </Link>
            )
          })}
        </div>
        <div className="bars-axis soft number" aria-hidden="true">
          {bars.map((bar, at) => (
            <span key={bar.from}>{at % every === 0 && inZone(new Date(bar.from), zone).slice(...shown)}</span>
          ))}
        </div>
      </div>
      <p className="soft legend">
        <span className="legend-good">■ {t("dashboard.well")}</span>{" "}
        <span className="legend-bad">■ {t("dashboard.badly")}</span> <span>■ {t("dashboard.other")}</span>
      </p>
    </section>
  )
}

/** From the ground up. */
function Part({ y, height, tone }: { y: number; height: number; tone: string }) {
  return <rect x="1" y={100 - y - height} width="8" height={height} className={`fill-${tone}`} />
}
