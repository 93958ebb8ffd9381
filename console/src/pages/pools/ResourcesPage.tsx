// What instances share: mutexes and counted resources, who holds them, and who waits in which order.
import { useMemo, useState } from "react"
import { api, asked, type Schemas } from "../../api/client"
import { useChange } from "../../parts/change"
import { Empty } from "../../parts/Empty"
import { Field } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { Moment } from "../../parts/Moment"
import { ProblemBox } from "../../parts/ProblemBox"
import { type Column, Rows } from "../../parts/Rows"
import { Tag } from "../../parts/StateTag"
import { To, toInstance, toJob } from "../../parts/To"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { Loading } from "../../shell/Loading"
import { PoolTabs } from "./PoolsPage"

type Resource = Schemas["ResourceView"]

export function ResourcesPage() {
  const t = useWords("admin")
  const asking = asked.useQuery("get", "/api/v1/resources")
  const { data, error } = asking
  useTitle(t("resources.title"))
  return (
    <>
      <PoolTabs />
      <div className="head">
        <h1>{t("resources.title")}</h1>
        <span className="grow" />
        <Opens type="primary" needs="resource.edit" words={t("resources.make")} title={t("resources.make")}>
          {(close) => <Edit close={close} />}
        </Opens>
      </div>
      <p className="soft">{t("resources.intro")}</p>
      {error && <ProblemBox error={error} again={() => void asking.refetch()} />}
      {asking.isPending && <Loading />}
      {data?.items.length === 0 && <Empty title={t("resources.empty")} hint={t("resources.empty_hint")} />}
      <div className="stack">
        {data?.items.map((one) => (
          <One key={`${one.kind}${one.name}`} resource={one} />
        ))}
      </div>
    </>
  )
}

function One({ resource }: { resource: Resource }) {
  const t = useWords("admin")
  const { name, kind, units, held, waiting } = resource
  return (
    <section className="card">
      <div className="head">
        <h2>{name}</h2>
        <Tag tone={held >= units && waiting > 0 ? "warn" : "calm"}>{t(`resources.kind.${kind}`)}</Tag>
        <span>{t("resources.held", { held, units })}</span>
        <span className="soft">{t("resources.waiting", { count: waiting })}</span>
        <span className="grow" />
        {kind === "counted" && (
          <Opens
            size="small"
            needs="resource.edit"
            words={t("change")}
            title={t("resources.change", { name })}
            aria-label={t("resources.change", { name })}
          >
            {(close) => <Edit resource={resource} close={close} />}
          </Opens>
        )}
      </div>
      {resource.line.length > 0 ? <Line resource={resource} /> : <p className="soft">{t("resources.free")}</p>}
    </section>
  )
}

function Line({ resource }: { resource: Resource }) {
  const t = useWords("admin")
  const columns = useMemo<Column<Schemas["TicketView"]>[]>(
    () => [
      {
        key: "instance",
        title: t("resources.instance"),
        show: (ticket) => <To to={toInstance(ticket.instance)}>{ticket.instance}</To>,
      },
      {
        key: "job",
        title: t("resources.job"),
        wide: "rest",
        show: (ticket) => <To to={toJob(ticket.job)}>{ticket.job}</To>,
      },
      {
        key: "held",
        title: t("resources.place"),
        show: (ticket) => (
          <Tag tone={ticket.held ? "busy" : "calm"}>{ticket.held ? t("resources.holds") : t("resources.waits")}</Tag>
        ),
      },
      { key: "units", title: t("resources.units"), show: (ticket) => ticket.units },
      { key: "since", title: t("resources.since"), show: (ticket) => <Moment at={ticket.since} /> },
    ],
    [t],
  )
  return <Rows label={resource.name} columns={columns} rows={resource.line} id={(ticket) => ticket.instance} />
}

function Edit({ resource, close }: { resource?: Resource; close: () => void }) {
  const t = useWords("admin")
  const change = useChange()
  const [name, setName] = useState(resource?.name ?? "")
  const [units, setUnits] = useState(String(resource?.units ?? 1))
  const put = () => {
    const asking = api.PUT("/api/v1/resources/{name}", {
      params: { path: { name: name.trim() } },
      body: { units: Number(units) },
    })
    return change(asking, t("resources.set", { name }))
  }
  return (
    <Form submit={t("save")} act={put} then={close}>
      {!resource && (
        <Field words={t("resources.name")} hint={t("resources.name_hint")} required value={name} change={setName} />
      )}
      <Field
        words={t("resources.units")}
        hint={t("resources.units_hint")}
        type="number"
        min={0}
        required
        value={units}
        change={setUnits}
      />
    </Form>
  )
}
