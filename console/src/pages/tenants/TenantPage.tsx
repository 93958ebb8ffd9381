// One tenant: what it has beside what it may have; change, export, delete.
import { Link, useParams } from "@tanstack/react-router"
import { useState } from "react"
import { api, asked, type Schemas } from "../../api/client"
import { useChange } from "../../parts/change"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { Moment } from "../../parts/Moment"
import { ProblemBox } from "../../parts/ProblemBox"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { Loading } from "../../shell/Loading"
import { DeleteTenant } from "./DeleteTenant"
import { Export } from "./Export"
import { Fields, readQuotas, writtenQuotas } from "./Quotas"
import { TenantState } from "./TenantsPage"

type Tenant = Schemas["TenantView"]

export function TenantPage() {
  const t = useWords("admin")
  const { name } = useParams({ from: "/tenants/$name" })
  const params = { path: { name } }
  const asking = asked.useQuery("get", "/api/v1/tenants/{name}", { params }, { refetchInterval: 10_000 })
  const { data, error } = asking
  useTitle(name)
  if (error) return <ProblemBox error={error} again={() => void asking.refetch()} />
  if (!data) return <Loading />
  return (
    <div className="stack">
      <div className="head">
        <h1>{name}</h1>
        <TenantState tenant={data} />
        <span className="grow" />
        <Link to="/" search={{ tenant: name }}>
          {t("tenants.enter")}
        </Link>
        <Opens needs="tenant.edit" words={t("change")} title={t("tenants.change", { name })}>
          {(close) => <Change tenant={data} close={close} />}
        </Opens>
        <Export name={name} />
        {name !== "default" && <DeleteTenant tenant={data} />}
      </div>
      <Usage tenant={data} />
      <p className="soft">
        {t("tenants.made_line")} <Moment at={data.created_at} /> {t("made.line", { who: data.created_by })} ·{" "}
        {data.exported_at ? t("tenants.exported") : t("tenants.not_exported")}{" "}
        {data.exported_at && <Moment at={data.exported_at} />}
      </p>
    </div>
  )
}

function Usage({ tenant }: { tenant: Tenant }) {
  const t = useWords("admin")
  const { usage, quotas } = tenant
  const of = (used: number | undefined, bound: number | null | undefined) =>
    `${used ?? "–"} ${bound == null ? "" : t("tenants.of", { bound })}`
  return (
    <section className="card">
      <h2>{t("tenants.usage")}</h2>
      <dl className="facts">
        <dt>{t("tenants.jobs")}</dt>
        <dd>{of(usage?.jobs, quotas.jobs)}</dd>
        <dt>{t("tenants.running")}</dt>
        <dd>{of(usage?.running, quotas.running)}</dd>
        <dt>{t("tenants.open")}</dt>
        <dd>{usage?.open ?? "–"}</dd>
        <dt>{t("tenants.per_second")}</dt>
        <dd>{quotas.per_second ?? t("no_bound")}</dd>
        <dt>{t("tenants.log_bytes_per_day")}</dt>
        <dd>{of(usage?.log_bytes_today, quotas.log_bytes_per_day)}</dd>
        <dt>{t("tenants.history_days")}</dt>
        <dd>{quotas.history_days ?? t("no_bound")}</dd>
        <dt>{t("tenants.agents")}</dt>
        <dd>{usage?.agents ?? "–"}</dd>
        <dt>{t("tenants.pools")}</dt>
        <dd>{usage?.pools ?? "–"}</dd>
        <dt>{t("tenants.weight")}</dt>
        <dd>{tenant.weight}</dd>
        <dt>{t("tenants.inside")}</dt>
        <dd>{tenant.private_network ? t("tenants.yes") : t("tenants.no")}</dd>
        <dt>{t("tenants.servers")}</dt>
        <dd>{tenant.servers.join(", ") || t("tenants.any_server")}</dd>
      </dl>
    </section>
  )
}

function Change({ tenant, close }: { tenant: Tenant; close: () => void }) {
  const t = useWords("admin")
  const change = useChange()
  const { name } = tenant
  const [quotas, setQuotas] = useState(writtenQuotas(tenant))
  const put = () => {
    const asking = api.PUT("/api/v1/tenants/{name}", { params: { path: { name } }, body: readQuotas(quotas) })
    return change(asking, t("tenants.changed", { name }))
  }
  return (
    <Form submit={t("save")} act={put} then={close}>
      <p className="soft">{t("tenants.change_hint")}</p>
      <Fields value={quotas} change={setQuotas} />
    </Form>
  )
}
