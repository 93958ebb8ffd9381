// How every part of the installation is, each with a word and what to look at.
import { Link } from "@tanstack/react-router"
import { asked } from "../../api/client"
import { useMay } from "../../parts/may"
import { ProblemBox } from "../../parts/ProblemBox"
import { Tag } from "../../parts/StateTag"
import { SLOWLY } from "../../parts/slowly"
import { useWords } from "../../parts/words"
import { useHealth, useReady } from "./alive"

const EVERY_MS = 10_000

export function Health() {
  const t = useWords("admin")
  const health = useHealth()
  const ready = useReady()
  const may = useMay()
  const error = health.error ?? ready.error
  const stuck = health.data?.shards.filter((shard) => shard.stuck) ?? []
  return (
    <section className="card">
      <h2>{t("about.health")}</h2>
      {error && <ProblemBox error={error} />}
      <dl className="facts">
        <dt>{t("about.server")}</dt>
        <dd>
          {ready.data && (
            <Tag tone={ready.data.ready ? "good" : "warn"}>
              {ready.data.ready ? t("about.ready") : t("about.not_ready", { missing: ready.data.missing.join(", ") })}
            </Tag>
          )}
        </dd>
        <dt>{t("about.uptime")}</dt>
        <dd>{health.data?.uptime}</dd>
        <dt>{t("about.shards")}</dt>
        <dd>
          {health.data && (
            <Tag tone={health.data.ok ? "good" : "bad"}>{health.data.ok ? t("about.healthy") : t("about.sick")}</Tag>
          )}
          {stuck.map((shard) => (
            <p key={shard.id}>
              {t("about.shard", { id: shard.id })}: {shard.stuck}
            </p>
          ))}
        </dd>
        {may("server.see") && <Servers />}
        {may("agent.see") && <Agents />}
        {may("system.see") && <Quarantined />}
      </dl>
    </section>
  )
}

/** The store answers this by its own clock; what it cannot write, the shards above tell. */
function Servers() {
  const t = useWords("admin")
  const { data, error } = asked.useQuery("get", "/api/v1/cluster", undefined, { refetchInterval: EVERY_MS })
  const alive = data?.servers.filter((server) => server.state === "alive").length ?? 0
  const all = data?.servers.length ?? 0
  const ownerless = data?.shards.filter((shard) => shard.server == null).length ?? 0
  return (
    <>
      <dt>{t("about.store")}</dt>
      <dd>
        {error && <Tag tone="bad">{t("about.store_silent")}</Tag>}
        {data && <Tag tone="good">{all === 0 ? t("about.store_embedded") : t("about.store_shared")}</Tag>}
      </dd>
      {all > 0 && <dt>{t("servers.title")}</dt>}
      {all > 0 && (
        <dd>
          <Link to="/servers">
            <Tag tone={alive === 0 ? "bad" : alive < all || ownerless > 0 ? "warn" : "good"}>
              {t("about.servers", { alive, all })}
            </Tag>
          </Link>
          {data?.servers
            .filter((server) => server.state !== "alive")
            .map((server) => (
              <p key={server.id}>
                {server.name}: {t(`servers.states.${server.state}`)}
              </p>
            ))}
          {ownerless > 0 && <p>{t("about.ownerless", { count: ownerless })}</p>}
        </dd>
      )}
    </>
  )
}

function Agents() {
  const t = useWords("admin")
  const { data } = asked.useQuery("get", "/api/v1/agents", undefined, { refetchInterval: EVERY_MS })
  const online = data?.items.filter((agent) => agent.state === "online").length ?? 0
  const all = data?.items.length ?? 0
  return (
    <>
      <dt>{t("agents.title")}</dt>
      <dd>
        <Link to="/agents">
          <Tag tone={online === 0 ? "bad" : online < all ? "warn" : "good"}>{t("pools.online", { online, all })}</Tag>
        </Link>
      </dd>
    </>
  )
}

function Quarantined() {
  const t = useWords("admin")
  const { data } = asked.useQuery("get", "/api/v1/quarantine", undefined, SLOWLY)
  const count = data?.items.length ?? 0
  return (
    <>
      <dt>{t("settings.quarantine")}</dt>
      <dd>
        <Link to="/settings">
          <Tag tone={count === 0 ? "good" : "bad"}>{t("about.quarantined", { count })}</Tag>
        </Link>
      </dd>
    </>
  )
}
