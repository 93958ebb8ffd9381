// Whether an agent is there, and how busy its machine is.
import { Tag } from "../../parts/StateTag"
import { useWords } from "../../parts/words"
import type { Agent } from "./AgentActions"

export function Presence({ agent }: { agent: Agent }) {
  const t = useWords("admin")
  return (
    <span className="actions">
      <Tag tone={agent.state === "online" ? "good" : "bad"} hint={t(`agents.state_hint.${agent.state}`)}>
        {t(`agents.state.${agent.state}`)}
      </Tag>
      {agent.drained && (
        <Tag tone="warn" hint={t("agents.drained_hint")}>
          {t("agents.drained")}
        </Tag>
      )}
    </span>
  )
}

/** With the numbers in words, or only told on hover. */
export function Load({ agent, words: spelled }: { agent: Agent; words?: boolean }) {
  const t = useWords("admin")
  const { load } = agent
  if (!load) return "–"
  const bars = [
    ["cpu", load.cpu_percent],
    ["memory", load.memory_percent],
    ["disk", load.disk_percent],
  ] as const
  return (
    <span className="bars">
      {bars.map(([what, percent]) => {
        const words = t(`agents.percent.${what}`, { percent: Math.round(percent) })
        return (
          <span key={what} className="bar">
            {!spelled && <small className="soft">{t(`agents.short.${what}`)}</small>}
            <meter min={0} max={100} high={90} value={percent} aria-label={words} title={words} />
            {spelled && <span className="soft">{words}</span>}
          </span>
        )
      })}
    </span>
  )
}
