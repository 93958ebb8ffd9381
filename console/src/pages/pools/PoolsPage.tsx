// Pools: where jobs may run, how much at once, and for executors at which addresses.
import { Link } from "@tanstack/react-router"
import { useMemo, useState } from "react"
import { api, asked, type Schemas } from "../../api/client"
import { Act } from "../../parts/Act"
import { useChange } from "../../parts/change"
import { Empty } from "../../parts/Empty"
import { Area, Field } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { List } from "../../parts/List"
import type { Column } from "../../parts/Rows"
import { Tabs } from "../../parts/Tabs"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { boundIn, wordsIn } from "../../parts/written"
import { slotsOf } from "../agents/slots"

type Pool = Schemas["PoolView"]

export function PoolTabs() {
  const t = useWords("admin")
  const tabs = [
    { to: "/pools", words: t("pools.title"), needs: "pool.see" },
    { to: "/resources", words: t("resources.title"), needs: "resource.see" },
  ] as const
  return <Tabs label={t("pools.title")} tabs={[...tabs]} />
}

export function PoolsPage() {
  const t = useWords("admin")
  const asking = asked.useQuery("get", "/api/v1/pools", undefined, { refetchInterval: 10_000 })
  useTitle(t("pools.title"))
  return (
    <>
      <PoolTabs />
      <div className="head">
        <h1>{t("pools.title")}</h1>
        <span className="grow" />
        <Opens type="primary" needs="pool.edit" words={t("pools.make")} title={t("pools.make")}>
          {(close) => <Edit close={close} />}
        </Opens>
      </div>
      <p className="soft">{t("pools.intro")}</p>
      <List
        label={t("pools.title")}
        asking={asking}
        columns={useColumns()}
        id={(pool) => pool.name}
        empty={<Empty title={t("pools.empty")} hint={t("pools.empty_hint")} />}
      />
    </>
  )
}

function useColumns(): Column<Pool>[] {
  const t = useWords("admin")
  return useMemo(
    () => [
      { key: "name", title: t("pools.name"), wide: "rest", show: (pool) => pool.name },
      {
        key: "agents",
        title: t("pools.agents"),
        show: (pool) => <Link to="/agents">{t("pools.online", { online: pool.online, all: pool.agents })}</Link>,
      },
      { key: "slots", title: t("pools.slots"), show: (pool) => slotsOf(pool.slots) },
      { key: "limit", title: t("pools.limit"), show: (pool) => pool.limit ?? t("no_bound") },
      { key: "addresses", title: t("pools.addresses"), show: (pool) => pool.addresses.join(", ") || "–" },
      { key: "actions", title: t("made.actions"), show: (pool) => <Actions pool={pool} /> },
    ],
    [t],
  )
}

function Actions({ pool }: { pool: Pool }) {
  const t = useWords("admin")
  const change = useChange()
  const { name } = pool
  const remove = () =>
    change(api.DELETE("/api/v1/pools/{name}", { params: { path: { name } } }), t("pools.deleted", { name }))
  return (
    <span className="actions">
      <Opens
        size="small"
        needs="pool.edit"
        words={t("change")}
        title={t("pools.change", { name })}
        aria-label={t("pools.change", { name })}
      >
        {(close) => <Edit pool={pool} close={close} />}
      </Opens>
      <Act
        size="small"
        danger
        needs="pool.edit"
        aria-label={`${t("delete")}: ${name}`}
        ask={{ title: t("pools.delete_ask", { name }), text: t("pools.delete_hint"), yes: t("delete"), danger: true }}
        act={remove}
      >
        {t("delete")}
      </Act>
    </span>
  )
}

function Edit({ pool, close }: { pool?: Pool; close: () => void }) {
  const t = useWords("admin")
  const change = useChange()
  const [name, setName] = useState(pool?.name ?? "")
  const [limit, setLimit] = useState(pool?.limit?.toString() ?? "")
  const [addresses, setAddresses] = useState(pool?.addresses.join("\n") ?? "")
  const put = () => {
    const body = { limit: boundIn(limit), addresses: wordsIn(addresses) }
    const asking = api.PUT("/api/v1/pools/{name}", { params: { path: { name: name.trim() } }, body })
    return change(asking, t("pools.set", { name }))
  }
  return (
    <Form submit={t("save")} act={put} then={close}>
      {!pool && <Field words={t("pools.name")} hint={t("pools.name_hint")} required value={name} change={setName} />}
      <Field
        words={t("pools.limit")}
        hint={t("pools.limit_hint")}
        type="number"
        min={0}
        value={limit}
        change={setLimit}
      />
      <Area
        words={t("pools.addresses")}
        hint={t("pools.addresses_hint")}
        value={addresses}
        change={setAddresses}
        placeholder="http://10.0.0.7:9999"
      />
    </Form>
  )
}
