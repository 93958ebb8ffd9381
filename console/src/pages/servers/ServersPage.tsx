// The servers of the installation: what each owns, in which term, how far it has decided, and its share.
import { useMemo, useState } from "react"
import { api, asked, type Schemas } from "../../api/client"
import { Act } from "../../parts/Act"
import { useChange } from "../../parts/change"
import { Empty } from "../../parts/Empty"
import { Field } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { Moment } from "../../parts/Moment"
import { ProblemBox } from "../../parts/ProblemBox"
import { type Column, Rows } from "../../parts/Rows"
import { Tag } from "../../parts/StateTag"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { Loading } from "../../shell/Loading"
import { useHealth } from "../about/alive"

type Cluster = Schemas["ClusterView"]
type Server = Schemas["ServerView"]

const TONES = { alive: "good", draining: "warn", dead: "bad" } as const

export function ServersPage() {
  const t = useWords("admin")
  // Leases are no events.
  const asking = asked.useQuery("get", "/api/v1/cluster", undefined, { refetchInterval: 5000 })
  const { data, error } = asking
  useTitle(t("servers.title"))
  return (
    <div className="stack">
      <div className="head">
        <h1>{t("servers.title")}</h1>
      </div>
      {error && <ProblemBox error={error} again={() => void asking.refetch()} />}
      {asking.isPending && <Loading />}
      {data && data.servers.length === 0 && <Empty title={t("servers.alone")} hint={t("servers.alone_hint")} />}
      {data && data.servers.length > 0 && <Servers cluster={data} />}
      {data && <Shards cluster={data} />}
    </div>
  )
}

function Servers({ cluster }: { cluster: Cluster }) {
  const t = useWords("admin")
  const here = cluster.answered_by
  const columns = useMemo<Column<Server>[]>(
    () => [
      {
        key: "name",
        title: t("servers.name"),
        wide: "rest",
        show: (server) => (
          <span>
            {server.name} {server.id === here && <span className="soft">({t("servers.this")})</span>}
          </span>
        ),
      },
      {
        key: "state",
        title: t("servers.state"),
        show: (server) => <Tag tone={TONES[server.state]}>{t(`servers.states.${server.state}`)}</Tag>,
      },
      { key: "shards", title: t("servers.shards"), show: (server) => server.shards },
      { key: "weight", title: t("servers.weight"), show: (server) => server.weight },
      { key: "until", title: t("servers.until"), show: (server) => <Moment at={server.until} /> },
      { key: "version", title: t("servers.version"), show: (server) => server.version },
      { key: "started", title: t("servers.started"), show: (server) => <Moment at={server.started_at} /> },
      { key: "actions", title: t("made.actions"), show: (server) => <Actions server={server} /> },
    ],
    [t, here],
  )
  return <Rows label={t("servers.title")} columns={columns} rows={cluster.servers} id={(server) => server.id} />
}

function Actions({ server }: { server: Server }) {
  const t = useWords("admin")
  const change = useChange()
  const { name } = server
  const params = { path: { id: server.id } }
  const of = (verb: string) => `${verb}: ${name}`
  if (server.state === "dead") {
    const ask = { title: t("servers.forget_ask", { name }), text: t("servers.forget_hint"), yes: t("servers.forget") }
    const forget = () => change(api.DELETE("/api/v1/cluster/servers/{id}", { params }), t("servers.forgot", { name }))
    return (
      <Act size="small" danger needs="server.edit" ask={ask} act={forget} aria-label={of(t("servers.forget"))}>
        {t("servers.forget")}
      </Act>
    )
  }
  const drain = { title: t("servers.drain_ask", { name }), text: t("servers.drain_hint"), yes: t("servers.drain") }
  return (
    <span className="actions">
      {server.state === "draining" ? (
        <Act
          size="small"
          needs="server.edit"
          aria-label={of(t("servers.undrain"))}
          act={() =>
            change(api.POST("/api/v1/cluster/servers/{id}/undrain", { params }), t("servers.undrained", { name }))
          }
        >
          {t("servers.undrain")}
        </Act>
      ) : (
        <Act
          size="small"
          needs="server.edit"
          ask={drain}
          aria-label={of(t("servers.drain"))}
          act={() => change(api.POST("/api/v1/cluster/servers/{id}/drain", { params }), t("servers.drained", { name }))}
        >
          {t("servers.drain")}
        </Act>
      )}
      <Opens
        size="small"
        needs="server.edit"
        words={t("servers.weigh")}
        title={t("servers.weigh_ask", { name })}
        aria-label={of(t("servers.weigh"))}
      >
        {(close) => <Weigh server={server} close={close} />}
      </Opens>
    </span>
  )
}

function Weigh({ server, close }: { server: Server; close: () => void }) {
  const t = useWords("admin")
  const change = useChange()
  const [weight, setWeight] = useState(String(server.weight))
  const act = () => {
    const params = { path: { id: server.id } }
    const asking = api.PUT("/api/v1/cluster/servers/{id}/weight", { params, body: { weight: Number(weight) } })
    return change(asking, t("servers.weighed", { name: server.name, weight }))
  }
  return (
    <Form submit={t("servers.weigh")} act={act} then={close}>
      <Field
        words={t("servers.weight")}
        hint={t("servers.weight_hint")}
        type="number"
        min={0}
        max={1000}
        required
        value={weight}
        change={setWeight}
      />
    </Form>
  )
}

function Shards({ cluster }: { cluster: Cluster }) {
  const t = useWords("admin")
  // How long ago the loop came round is known to the server that owns the shard.
  const health = useHealth(5000)
  const owner = new Map(cluster.servers.map((server) => [server.id, server.name]))
  const columns: Column<Schemas["OwnedView"]>[] = [
    { key: "id", title: t("servers.shard"), show: (shard) => shard.id },
    {
      key: "owner",
      title: t("servers.owner"),
      wide: "rest",
      show: (shard) =>
        shard.server == null ? (
          cluster.servers.length === 0 ? (
            t("servers.this")
          ) : (
            <Tag tone="bad">{t("servers.nobody")}</Tag>
          )
        ) : (
          (owner.get(shard.server) ?? shard.server)
        ),
    },
    { key: "term", title: t("servers.term"), show: (shard) => shard.term },
    { key: "batch", title: t("servers.batch"), show: (shard) => shard.batch },
    {
      key: "horizon",
      title: t("servers.horizon"),
      show: (shard) => <Moment at={shard.batch === 0 ? null : shard.horizon} />,
    },
    {
      key: "lag",
      title: t("servers.lag"),
      show: (shard) => {
        const own = health.data?.shards.find((one) => one.id === shard.id)
        if (own?.stuck) return <Tag tone="bad">{own.stuck}</Tag>
        return own ? roughly(own.idle) : t("servers.lag_elsewhere")
      },
    },
  ]
  return (
    <details open={cluster.shards.length < 5}>
      <summary>{t("servers.all_shards", { count: cluster.shards.length })}</summary>
      <p className="soft">{t("servers.shards_hint")}</p>
      <Rows label={t("servers.shards")} columns={columns} rows={cluster.shards} id={(shard) => shard.id} />
    </details>
  )
}

/** Nobody needs the microseconds. */
function roughly(length: string): string {
  return length.replace(/(?<=ms)\d+us$/, "")
}
