// Home: who takes work, what happened today, and something to try.
import { Link } from "@tanstack/react-router"
import { asked } from "../../api/client"
import { useMay } from "../../parts/may"
import { ProblemBox } from "../../parts/ProblemBox"
import { Tag } from "../../parts/StateTag"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { InstanceRows } from "../instances/InstanceRows"
import { Examples } from "./Examples"
import "./home.css"

export function HomePage() {
  const t = useWords("monitor")
  const may = useMay()
  useTitle(t("home.title"))
  return (
    <div className="stack">
      <h1>{t("home.title")}</h1>
      <div className="columns">
        {may("agent.see") && <Agents />}
        {may("instance.see") && <Today />}
      </div>
      {may("job.edit") && <Examples />}
      {may("instance.see") && <Latest />}
    </div>
  )
}

function Agents() {
  const t = useWords("monitor")
  const { data, error } = asked.useQuery("get", "/api/v1/agents")
  const all = data?.items ?? []
  const online = all.filter((agent) => agent.state === "online")
  const first = online[0]
  return (
    <section className="card" aria-labelledby="agents">
      <h2 id="agents">
        <Link to="/agents">{t("home.agents_title")}</Link>
      </h2>
      {error && <ProblemBox error={error} />}
      {data && first && online.length === 1 && <Tag tone="good">{t("home.agent_online", { name: first.name })}</Tag>}
      {data && online.length > 1 && (
        <Tag tone="good">{t("home.agents_online", { online: online.length, all: all.length })}</Tag>
      )}
      {data && !first && (
        <>
          <Tag tone="warn">{t("home.no_agent")}</Tag>
          <p className="soft">{t("home.no_agent_hint")}</p>
        </>
      )}
    </section>
  )
}

const OPEN = ["scheduled", "ready", "dispatched", "running", "retry_wait"]

function Today() {
  const t = useWords("monitor")
  const { data, error } = asked.useQuery("get", "/api/v1/stats")
  const count = (...states: string[]) => states.reduce((sum, state) => sum + (data?.instances[state] ?? 0), 0)
  const figures = [
    { words: t("home.open"), state: "open", count: count(...OPEN), tone: "busy" },
    { words: t("home.succeeded"), state: "succeeded,warned", count: count("succeeded", "warned"), tone: "good" },
    { words: t("home.failed"), state: "failed,dead", count: count("failed", "dead"), tone: "bad" },
  ]
  return (
    <section className="card" aria-labelledby="today">
      <h2 id="today">{t("home.now")}</h2>
      {error && <ProblemBox error={error} />}
      {data && (
        <ul className="figures">
          {figures.map((figure) => (
            <li key={figure.state}>
              <Link to="/instances" search={{ state: figure.state, from: data.from }}>
                <strong className={`figure-${figure.tone}`}>{figure.count}</strong> {figure.words}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Latest() {
  const t = useWords("monitor")
  const { data } = asked.useQuery("get", "/api/v1/instances", { params: { query: { limit: 8 } } })
  if (!data || data.items.length === 0) return null
  return (
    <section aria-labelledby="latest">
      <h2 id="latest">{t("home.latest")}</h2>
      <InstanceRows rows={data.items} label={t("home.latest")} />
      <p>
        <Link to="/instances">{t("home.all")}</Link>
      </p>
    </section>
  )
}
