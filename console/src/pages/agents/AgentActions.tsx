// What can be done to an agent or executor from wherever it is shown.
import { useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { api, type Schemas } from "../../api/client"
import { Act } from "../../parts/Act"
import { useChange, useUndoable } from "../../parts/change"
import { showChanged } from "../../parts/shown"
import { useWords } from "../../parts/words"

export type Agent = Schemas["AgentView"]

export function AgentActions({ agent, small }: { agent: Agent; small?: boolean }) {
  const t = useWords("admin")
  const undoable = useUndoable()
  const queries = useQueryClient()
  const { name } = agent
  const shown = (drained: boolean) => (undone: boolean) =>
    showChanged(queries, "agents", (one) => one.id === agent.id, { drained: drained !== undone })
  const params = { path: { id: agent.id } }
  const size = small ? "small" : "middle"
  const drain = () => api.POST("/api/v1/agents/{id}/drain", { params })
  const undrain = () => api.POST("/api/v1/agents/{id}/undrain", { params })
  return (
    <span className="actions">
      {agent.drained ? (
        <Act
          size={size}
          needs="agent.edit"
          aria-label={`${t("agents.undrain")}: ${name}`}
          act={() => undoable(undrain(), t("agents.undrained", { name }), drain, shown(false))}
        >
          {t("agents.undrain")}
        </Act>
      ) : (
        <Act
          size={size}
          needs="agent.edit"
          aria-label={`${t("agents.drain")}: ${name}`}
          title={t("agents.drain_hint")}
          act={() => undoable(drain(), t("agents.drain_done", { name }), undrain, shown(true))}
        >
          {t("agents.drain")}
        </Act>
      )}
      {!small && <Leave agent={agent} />}
    </span>
  )
}

/** For good: remove it when nothing runs there, or revoke it whatever it runs. */
function Leave({ agent }: { agent: Agent }) {
  const t = useWords("admin")
  const change = useChange()
  const navigate = useNavigate()
  const { name } = agent
  const params = { path: { id: agent.id } }
  const away = () => navigate({ to: "/agents" })
  return (
    <>
      <Act
        needs="agent.edit"
        ask={{ title: t("agents.remove_ask", { name }), text: t("agents.remove_hint"), yes: t("agents.remove") }}
        act={() => change(api.DELETE("/api/v1/agents/{id}", { params }), t("agents.removed", { name }), away)}
      >
        {t("agents.remove")}
      </Act>
      <Act
        danger
        needs="agent.edit"
        ask={{
          title: t("agents.revoke_ask", { name }),
          text: t("agents.revoke_hint"),
          yes: t("agents.revoke"),
          danger: true,
        }}
        act={() => change(api.POST("/api/v1/agents/{id}/revoke", { params }), t("agents.revoked", { name }), away)}
      >
        {t("agents.revoke")}
      </Act>
    </>
  )
}
