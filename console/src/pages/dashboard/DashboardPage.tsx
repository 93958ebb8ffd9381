// The state of things at a glance: what happens now, how it went, what fails, who works, what comes. Everything leads to what
// it counts.
import { Link } from "@tanstack/react-router"
import { asked, type Schemas } from "../../api/client"
import { useMay } from "../../parts/may"
import { useNow } from "../../parts/now"
import { ProblemBox } from "../../parts/ProblemBox"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { Load } from "../agents/Load"
import { slotsOf } from "../agents/slots"
import "../agents/agents.css"
import "../home/home.css"
import { History } from "./History"
import { Next } from "./Next"
import { Pace } from "./Pace"
import "../../parts/form/form.css"
import "./dashboard.css"

const DAY_MS = 86_400_000
const LATE_MS = 60_000
const SHOWN = 8

/** A time that moves by whole minutes, so that what is asked for stays the same for a while. */
export function useMinute(): number {
  return Math.floor(useNow(true) / 60_000) * 60_000
}

export function DashboardPage() {
  const t = useWords("monitor")
  const may = useMay()
  const glance = asked.useQuery("get", "/api/v1/overview")
  useTitle(t("dashboard.title"))
  return (
    <div className="stack">
      <h1>{t("dashboard.title")}</h1>
      <Now data={glance.data} error={glance.error} />
      <div className="columns">
        <History />
        <Pace overview={glance.data} />
      </div>
      {may("job.see") && <Next />}
      <div className="columns">
        <Failures data={glance.data} error={glance.error} />
        {may("agent.see") && <Agents />}
      </div>
    </div>
  )
}

type Glance = { data?: Schemas["OverviewView"]; error: unknown }

function Now({ data, error }: Glance) {
  const t = useWords("monitor")
  const minute = useMinute()
  const count = (...states: string[]) => states.reduce((sum, state) => sum + (data?.open[state] ?? 0), 0)
  const before = new Date(minute - LATE_MS).toISOString()
  const from = new Date(minute - DAY_MS).toISOString()
  const tone = (bad: number | undefined) => (bad ? "bad" : "good")
  const figures = [
    { key: "due", count: count("ready", "dispatched"), search: { state: "ready,dispatched" }, tone: "busy" },
    { key: "running", count: count("running"), search: { state: "running" }, tone: "busy" },
    { key: "waiting", count: count("retry_wait"), search: { state: "retry_wait" }, tone: "busy" },
    { key: "failed", count: data?.failed, search: { state: "failed,dead", from }, tone: tone(data?.failed) },
    { key: "late", count: data?.late, search: { state: "ready,dispatched", to: before }, tone: tone(data?.late) },
  ] as const
  return (
    <section className="card" aria-labelledby="now">
      <h2 id="now">{t("dashboard.now")}</h2>
      {error != null && <ProblemBox error={error} />}
      <ul className="figures">
        {figures.map((figure) => (
          <li key={figure.key} title={figure.key === "late" ? t("dashboard.late_hint") : undefined}>
            <Link to="/instances" search={figure.search}>
              <strong className={`figure-${figure.tone}`}>{data ? figure.count : "–"}</strong>{" "}
              {t(`dashboard.${figure.key}`)}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Failures({ data }: Glance) {
  const t = useWords("monitor")
  const from = new Date(useMinute() - DAY_MS).toISOString()
  const jobs = data?.failing.slice(0, SHOWN) ?? []
  const most = jobs[0]?.failed ?? 1
  return (
    <section className="card" aria-labelledby="failures">
      <h2 id="failures">{t("dashboard.failures")}</h2>
      {data && jobs.length === 0 && <p className="soft">{t("dashboard.no_failures")}</p>}
      <ul className="ranks">
        {jobs.map(({ job, failed }) => (
          <li key={job}>
            <Link to="/instances" search={{ job, state: "failed,dead", from }}>
              {job}
            </Link>
            <meter
              min={0}
              low={0.1}
              high={0.2}
              optimum={0}
              max={most}
              value={failed}
              aria-label={`${job}: ${failed}`}
            />
            <span className="number">{failed}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Agents() {
  const t = useWords("monitor")
  const { data, error } = asked.useQuery("get", "/api/v1/agents")
  return (
    <section className="card" aria-labelledby="load">
      <h2 id="load">{t("dashboard.agents")}</h2>
      {error && <ProblemBox error={error} />}
      <ul className="ranks">
        {data?.items.slice(0, SHOWN).map((agent) => (
          <li key={agent.id}>
            <Link to="/agents/$id" params={{ id: agent.id }}>
              {agent.name}
            </Link>
            <Load agent={agent} />
            <span className="number">
              {agent.load?.running ?? 0}/{slotsOf(agent.slots)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
