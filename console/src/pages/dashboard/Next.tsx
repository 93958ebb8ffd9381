// The planned times of the next hours: a lane for each job, the soonest on top, and a mark for each time.
import { Link } from "@tanstack/react-router"
import { asked } from "../../api/client"
import { Moment } from "../../parts/Moment"
import { browserZone, usePrefs } from "../../parts/prefs"
import { inZone } from "../../parts/time"
import { useWords } from "../../parts/words"
import { useMinute } from "./DashboardPage"
import { hourMarks } from "./figures"

const SHOWN = 12

export function Next() {
  const t = useWords("monitor")
  const zone = usePrefs().zone ?? browserZone()
  const minute = useMinute()
  // Anew each minute, as what is past leaves on the left.
  const { data } = asked.useQuery(
    "get",
    "/api/v1/upcoming",
    { params: { query: { limit: SHOWN } } },
    { refetchInterval: 60_000 },
  )
  const from = data ? Date.parse(data.from) : minute
  const span = data ? Date.parse(data.to) - from : 1
  const at = (time: string) => Math.max(0, ((Date.parse(time) - from) / span) * 1000)
  return (
    <section className="card" aria-labelledby="coming">
      <h2 id="coming">{t("dashboard.next")}</h2>
      {data && data.jobs.length === 0 && <p className="soft">{t("dashboard.no_next")}</p>}
      <ol className="coming">
        {data && data.jobs.length > 0 && (
          <li className="coming-hours" aria-hidden="true">
            <span />
            <span />
            <span className="lane">
              {labelled(hourMarks(from, span), from, span).map((mark) => (
                <span key={mark} style={{ insetInlineStart: `${((mark - from) / span) * 100}%` }}>
                  {inZone(new Date(mark), zone).slice(11, 16)}
                </span>
              ))}
            </span>
          </li>
        )}
        {data?.jobs.map((one) => (
          <li key={one.job}>
            <Link to="/jobs/$name" params={{ name: one.job }}>
              {one.job}
            </Link>
            <Moment at={one.times[0]} />
            <svg
              className="lane"
              viewBox="0 0 1000 10"
              preserveAspectRatio="none"
              role="img"
              aria-label={t("dashboard.times", { count: one.times.length })}
            >
              <line x1="0" y1="5" x2="1000" y2="5" className="lane-line" />
              {one.times.map((time) => (
                <rect key={time} x={at(time)} y="0" width="4" height="10" className="fill-busy" />
              ))}
              {one.more && <rect x={at(one.times.at(-1) ?? "")} y="3" width="1000" height="4" className="fill-faint" />}
            </svg>
          </li>
        ))}
      </ol>
      {data && data.more > 0 && <small className="soft">{t("dashboard.more_jobs", { count: data.more })}</small>}
    </section>
  )
}

/** A label begins at its mark: the last of the lane would end beside the card. */
function labelled(marks: number[], from: number, span: number): number[] {
  return marks.filter((mark) => (mark - from) / span < 0.9)
}
