// Who runs tasks, as a tree: pools, and in each its agents and executors, whether they are there and how busy they are.
import { useMemo } from "react"
import { asked } from "../../api/client"
import { Empty } from "../../parts/Empty"
import { Moment } from "../../parts/Moment"
import { useMay } from "../../parts/may"
import { ProblemBox } from "../../parts/ProblemBox"
import { type Column, Rows } from "../../parts/Rows"
import { Tabs } from "../../parts/Tabs"
import { To, toAgent } from "../../parts/To"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { Loading } from "../../shell/Loading"
import { AddAgent } from "./AddAgent"
import { type Agent, AgentActions } from "./AgentActions"
import { Load, Presence } from "./Load"
import { slotsOf } from "./slots"
import "./agents.css"

/** Their load is no event. */
const EVERY_MS = 10_000

export function AgentTabs() {
  const t = useWords("admin")
  const tabs = [
    { to: "/agents", words: t("agents.title") },
    { to: "/xxl-tokens", words: t("xxl.title") },
  ] as const
  return <Tabs label={t("agents.title")} tabs={[...tabs]} />
}

export function AgentsPage() {
  const t = useWords("admin")
  const asking = asked.useQuery("get", "/api/v1/agents", undefined, { refetchInterval: EVERY_MS })
  const { data, error } = asking
  useTitle(t("agents.title"))
  return (
    <>
      <AgentTabs />
      <div className="head">
        <h1>{t("agents.title")}</h1>
        <span className="grow" />
        <AddAgent />
      </div>
      {error && <ProblemBox error={error} again={() => void asking.refetch()} />}
      {asking.isPending && <Loading />}
      {data && data.items.length > 0 && <Tree agents={data.items} />}
      {data && data.items.length === 0 && <Empty title={t("agents.empty")} hint={t("agents.empty_hint")} />}
    </>
  )
}

function Tree({ agents }: { agents: Agent[] }) {
  const columns = useColumns()
  const maySeePools = useMay()("pool.see")
  const pools = asked.useQuery("get", "/api/v1/pools", undefined, { enabled: maySeePools, refetchInterval: EVERY_MS })
  const known = (pools.data?.items ?? []).map((pool) => pool.name)
  const names = [...new Set([...known, ...agents.flatMap((agent) => agent.pools)])].sort()
  return (
    <div className="stack">
      {names.map((name) => {
        const inside = agents.filter((agent) => agent.pools.includes(name))
        const limit = pools.data?.items.find((pool) => pool.name === name)?.limit
        return <Pool key={name} name={name} agents={inside} limit={limit ?? undefined} columns={columns} />
      })}
    </div>
  )
}

type PoolProps = { name: string; agents: Agent[]; limit: number | undefined; columns: Column<Agent>[] }

function Pool({ name, agents, limit, columns }: PoolProps) {
  const t = useWords("admin")
  const online = agents.filter((agent) => agent.state === "online")
  const slots = online.filter((agent) => !agent.drained).reduce((sum, agent) => sum + agent.slots, 0)
  return (
    <details className="branch" open>
      <summary>
        <strong>{name}</strong>{" "}
        <span className="soft">
          {t("agents.pool", { online: online.length, all: agents.length, slots: slotsOf(slots) })}
          {limit !== undefined && ` · ${t("agents.pool_limit", { limit })}`}
        </span>
      </summary>
      {agents.length > 0 ? (
        <Rows label={name} columns={columns} rows={agents} id={(agent) => agent.id} />
      ) : (
        <p className="soft">{t("agents.pool_empty")}</p>
      )}
    </details>
  )
}

function useColumns(): Column<Agent>[] {
  const t = useWords("admin")
  return useMemo(
    () => [
      {
        key: "name",
        title: t("agents.column.name"),
        wide: "rest",
        show: (agent) => <To to={toAgent(agent.id)}>{agent.name}</To>,
      },
      { key: "state", title: t("agents.column.state"), show: (agent) => <Presence agent={agent} /> },
      { key: "kind", title: t("agents.column.kind"), show: (agent) => t(`agents.kind.${agent.kind}`) },
      {
        key: "running",
        title: t("agents.column.running"),
        show: (agent) =>
          agent.load ? t("agents.slots", { running: agent.load.running, slots: slotsOf(agent.slots) }) : "–",
      },
      { key: "load", title: t("agents.column.load"), show: (agent) => <Load agent={agent} /> },
      { key: "version", title: t("agents.column.version"), show: (agent) => agent.version || "–" },
      { key: "seen", title: t("agents.column.seen"), show: (agent) => <Moment at={agent.seen_at} /> },
      { key: "actions", title: t("agents.column.actions"), show: (agent) => <AgentActions agent={agent} small /> },
    ],
    [t],
  )
}
