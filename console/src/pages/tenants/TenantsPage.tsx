// Tenants: who shares the installation, and how much each may have.
import { useMemo, useState } from "react"
import { api, asked, type Schemas } from "../../api/client"
import { useChange } from "../../parts/change"
import { Empty } from "../../parts/Empty"
import { Field } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { List } from "../../parts/List"
import { Moment } from "../../parts/Moment"
import type { Column } from "../../parts/Rows"
import { Tag } from "../../parts/StateTag"
import { SLOWLY } from "../../parts/slowly"
import { To } from "../../parts/To"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { Fields, readQuotas, writtenQuotas } from "./Quotas"

type Tenant = Schemas["TenantView"]

export function TenantsPage() {
  const t = useWords("admin")
  const asking = asked.useQuery("get", "/api/v1/tenants", undefined, SLOWLY)
  useTitle(t("tenants.title"))
  return (
    <>
      <div className="head">
        <h1>{t("tenants.title")}</h1>
        <span className="grow" />
        <Opens type="primary" needs="tenant.edit" words={t("tenants.make")} title={t("tenants.make")}>
          {(close) => <Make close={close} />}
        </Opens>
      </div>
      <p className="soft">{t("tenants.intro")}</p>
      <List
        label={t("tenants.title")}
        asking={asking}
        columns={useColumns()}
        id={(tenant) => tenant.id}
        empty={<Empty title={t("tenants.empty")} />}
      />
    </>
  )
}

function useColumns(): Column<Tenant>[] {
  const t = useWords("admin")
  return useMemo(() => {
    const bound = (value: number | null | undefined) => value ?? t("no_bound")
    return [
      {
        key: "name",
        title: t("tenants.name"),
        wide: "rest",
        show: (tenant) => <To to={`/tenants/${encodeURIComponent(tenant.name)}`}>{tenant.name}</To>,
      },
      { key: "state", title: t("tenants.state"), show: (tenant) => <TenantState tenant={tenant} /> },
      { key: "weight", title: t("tenants.weight"), show: (tenant) => tenant.weight },
      { key: "jobs", title: t("tenants.jobs"), show: (tenant) => bound(tenant.quotas.jobs) },
      { key: "running", title: t("tenants.running"), show: (tenant) => bound(tenant.quotas.running) },
      { key: "per_second", title: t("tenants.per_second"), show: (tenant) => bound(tenant.quotas.per_second) },
      { key: "made", title: t("made.at"), show: (tenant) => <Moment at={tenant.created_at} /> },
    ]
  }, [t])
}

export function TenantState({ tenant }: { tenant: Tenant }) {
  const t = useWords("admin")
  return tenant.state === "active" ? (
    <Tag tone="good">{t("tenants.active")}</Tag>
  ) : (
    <Tag tone="warn" hint={t("tenants.closing_hint")}>
      {t("tenants.closing")}
    </Tag>
  )
}

function Make({ close }: { close: () => void }) {
  const t = useWords("admin")
  const change = useChange()
  const [name, setName] = useState("")
  const [quotas, setQuotas] = useState(writtenQuotas(undefined))
  const make = () => {
    const body = { name: name.trim(), ...readQuotas(quotas) }
    return change(api.POST("/api/v1/tenants", { body }), t("tenants.made", { name: body.name }))
  }
  return (
    <Form submit={t("tenants.make")} act={make} then={close}>
      <Field words={t("tenants.name")} required value={name} change={setName} placeholder="acme" />
      <Fields value={quotas} change={setQuotas} />
    </Form>
  )
}
