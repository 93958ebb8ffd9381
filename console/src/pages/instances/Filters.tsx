// What instances are filtered by. Words go into the address when somebody has finished typing.

import { asked } from "../../api/client"
import { LateInput } from "../../parts/LateInput"
import { useMay } from "../../parts/may"
import { browserZone, usePrefs } from "../../parts/prefs"
import { STATES } from "../../parts/StateTag"
import { fromLocal, toLocal } from "../../parts/time"
import { useWords } from "../../parts/words"
import { CAUSES, type InstanceFilters } from "../../routes/monitor"

type Props = { filters: InstanceFilters; change: (changed: Partial<InstanceFilters>) => Promise<void> }

const MORE = ["cause", "agent", "folder", "label"] as const

export function Filters({ filters, change }: Props) {
  const t = useWords(["monitor", "parts"])
  const zone = usePrefs().zone ?? browserZone()
  const may = useMay()
  const instant = (name: "from" | "to") => (
    <label>
      {t(`monitor:instances.${name}`)}
      <input
        type="datetime-local"
        step={1}
        value={toLocal(filters[name], zone)}
        onChange={(event) => void change({ [name]: fromLocal(event.target.value, zone) })}
      />
    </label>
  )
  return (
    <search className="filters">
      <label>
        {t("monitor:instances.state")}
        <select
          value={filters.state ?? ""}
          onChange={(event) => void change({ state: event.target.value || undefined })}
        >
          <option value="">{t("monitor:instances.any_state")}</option>
          <option value="open">{t("monitor:instances.open")}</option>
          <option value="ended">{t("monitor:instances.ended")}</option>
          {STATES.map((state) => (
            <option key={state} value={state}>
              {t(`parts:state.${state}`)}
            </option>
          ))}
          {filters.state?.includes(",") && <option value={filters.state}>{several(filters.state)}</option>}
        </select>
      </label>
      <label>
        {t("monitor:instances.job")}
        <LateInput
          value={filters.job ?? ""}
          placeholder={t("monitor:instances.any_job")}
          change={(job) => void change({ job: job || undefined })}
        />
      </label>
      {instant("from")}
      {instant("to")}
      <details className="more-filters" open={MORE.some((name) => filters[name] !== undefined)}>
        <summary>{t("monitor:instances.more")}</summary>
        <div className="filters">
          <label>
            {t("monitor:instances.column.cause")}
            <select
              value={filters.cause ?? ""}
              onChange={(event) => void change({ cause: chosen(event.target.value) })}
            >
              <option value="">{t("monitor:instances.any_cause")}</option>
              {CAUSES.map((cause) => (
                <option key={cause} value={cause}>
                  {t(`monitor:instances.cause.${cause}`)}
                </option>
              ))}
            </select>
          </label>
          {may("agent.see") && <AgentChoice agent={filters.agent} change={change} />}
          <label>
            {t("monitor:instances.folder")}
            <LateInput value={filters.folder ?? ""} change={(folder) => void change({ folder: folder || undefined })} />
          </label>
          <label>
            {t("monitor:instances.label")}
            <LateInput
              value={filters.label ?? ""}
              placeholder="team=billing"
              change={(label) => void change({ label: label || undefined })}
            />
          </label>
        </div>
      </details>
    </search>
  )

  function chosen(value: string) {
    return CAUSES.find((cause) => cause === value)
  }

  function several(states: string): string {
    const known = states.split(",").flatMap((word) => STATES.filter((state) => state === word))
    return known.map((state) => t(`parts:state.${state}`)).join(", ")
  }
}

function AgentChoice({ agent, change }: { agent?: string; change: Props["change"] }) {
  const t = useWords("monitor")
  const { data } = asked.useQuery("get", "/api/v1/agents", undefined, { staleTime: 60_000 })
  const known = data?.items ?? []
  return (
    <label>
      {t("instances.column.agent")}
      <select value={agent ?? ""} onChange={(event) => void change({ agent: event.target.value || undefined })}>
        <option value="">{t("instances.any_agent")}</option>
        {agent && !known.some((one) => String(one.id) === agent) && <option value={agent}>{agent}</option>}
        {known.map((one) => (
          <option key={one.id} value={one.id}>
            {one.name}
          </option>
        ))}
      </select>
    </label>
  )
}
