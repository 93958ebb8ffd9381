// Deletes a tenant in three steps: take an export along, look what would go, type its name. Cannot be undone.
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { api, type Schemas } from "../../api/client"
import { done } from "../../parts/Act"
import { useChange } from "../../parts/change"
import { Field, Tick } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { useWords } from "../../parts/words"
import { Export } from "./Export"

type Tenant = Schemas["TenantView"]
type Deletion = Schemas["TenantDeletionView"]

export function DeleteTenant({ tenant }: { tenant: Tenant }) {
  const t = useWords("admin")
  const { name } = tenant
  return (
    <Opens
      danger
      needs="tenant.edit"
      words={t("delete")}
      title={t("tenants.delete_ask", { name })}
      disabled={tenant.state === "closing"}
    >
      {(close) => <Steps name={name} close={close} />}
    </Opens>
  )
}

function Steps({ name, close }: { name: string; close: () => void }) {
  const t = useWords("admin")
  const [plan, setPlan] = useState<Deletion>()
  const look = async () => {
    setPlan(await done(api.DELETE("/api/v1/tenants/{name}", { params: { path: { name } } })))
    return undefined
  }
  if (plan) return <Confirm name={name} plan={plan} close={close} />
  return (
    <div className="form">
      <p>{t("tenants.delete_export")}</p>
      <div>
        <Export name={name} />
      </div>
      <Form submit={t("tenants.delete_look")} act={look}>
        <p>{t("tenants.delete_look_hint")}</p>
      </Form>
    </div>
  )
}

function Confirm({ name, plan, close }: { name: string; plan: Deletion; close: () => void }) {
  const t = useWords(["admin", "parts"])
  const change = useChange()
  const navigate = useNavigate()
  const [typed, setTyped] = useState("")
  const [stop, setStop] = useState(false)
  const remove = () => {
    const query = { confirm: plan.confirm ?? undefined, stop }
    const asking = api.DELETE("/api/v1/tenants/{name}", { params: { path: { name }, query } })
    return change(asking, t("admin:tenants.deleting", { name }), () => navigate({ to: "/tenants" }))
  }
  const { jobs, pools, agents, open } = plan
  return (
    <Form submit={t("admin:tenants.delete_go")} act={remove} then={close} danger disabled={typed !== name}>
      <p>{t("admin:tenants.delete_goes", { jobs, pools, agents, open })}</p>
      <Tick
        words={t("admin:tenants.delete_stop")}
        hint={t("admin:tenants.delete_stop_hint")}
        value={stop}
        change={setStop}
      />
      <Field words={t("parts:form.named", { name })} value={typed} change={setTyped} autoComplete="off" />
    </Form>
  )
}
