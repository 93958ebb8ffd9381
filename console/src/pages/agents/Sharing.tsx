// Which tenants may use an agent besides its own.
import { useState } from "react"
import { api } from "../../api/client"
import { useChange } from "../../parts/change"
import { Field, Tick } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { useWords } from "../../parts/words"
import { wordsIn } from "../../parts/written"
import type { Agent } from "./AgentActions"

export function Sharing({ agent }: { agent: Agent }) {
  const t = useWords("admin")
  const { sharing } = agent
  const tenants = sharing?.tenants ?? []
  return (
    <section className="card">
      <h2>{t("sharing.title")}</h2>
      <p className="why">
        {sharing?.everyone
          ? t("sharing.everyone")
          : tenants.length > 0
            ? t("sharing.with", { tenants: tenants.join(", ") })
            : t("sharing.own")}
      </p>
      <Opens needs="tenant.edit" words={t("sharing.change")} title={t("sharing.ask", { name: agent.name })}>
        {(close) => <Share agent={agent} close={close} />}
      </Opens>
    </section>
  )
}

function Share({ agent, close }: { agent: Agent; close: () => void }) {
  const t = useWords("admin")
  const change = useChange()
  const [everyone, setEveryone] = useState(agent.sharing?.everyone ?? false)
  const [tenants, setTenants] = useState((agent.sharing?.tenants ?? []).join(", "))
  const share = () => {
    const body = everyone ? { everyone } : { tenants: wordsIn(tenants) }
    const asking = api.PUT("/api/v1/agents/{id}/sharing", { params: { path: { id: agent.id } }, body })
    return change(asking, t("sharing.done", { name: agent.name }))
  }
  return (
    <Form submit={t("sharing.change")} act={share} then={close}>
      <p className="soft">{t("sharing.hint")}</p>
      <Tick words={t("sharing.all")} value={everyone} change={setEveryone} />
      {!everyone && (
        <Field words={t("sharing.tenants")} value={tenants} change={setTenants} placeholder="acme, globex" />
      )}
    </Form>
  )
}
