// What holds for the whole installation: how much runs at once, a copy of everything, what was set aside because it broke us.
import { useState } from "react"
import { api, asked, type Schemas } from "../../api/client"
import { Act, done } from "../../parts/Act"
import { useChange } from "../../parts/change"
import { Field } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { List } from "../../parts/List"
import { Moment } from "../../parts/Moment"
import { useMay } from "../../parts/may"
import { ProblemBox } from "../../parts/ProblemBox"
import type { Column } from "../../parts/Rows"
import { save } from "../../parts/save"
import { SLOWLY } from "../../parts/slowly"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { boundIn } from "../../parts/written"

export function SettingsPage() {
  const t = useWords("admin")
  useTitle(t("settings.title"))
  return (
    <div className="stack">
      <div className="head">
        <h1>{t("settings.title")}</h1>
      </div>
      <div className="columns">
        <Limit />
        <Backup />
      </div>
      <Quarantine />
      <p className="soft">{t("settings.elsewhere")}</p>
    </div>
  )
}

function Limit() {
  const t = useWords("admin")
  const { data, error } = asked.useQuery("get", "/api/v1/limits", undefined, SLOWLY)
  return (
    <section className="card">
      <h2>{t("settings.limit")}</h2>
      {error && <ProblemBox error={error} />}
      <p>{data && (data.limit == null ? t("settings.no_limit") : t("settings.at_most", { count: data.limit }))}</p>
      <Opens
        needs="system.edit"
        words={t("change")}
        title={t("settings.limit")}
        aria-label={t("settings.change_limit")}
      >
        {(close) => <SetLimit limit={data?.limit ?? null} close={close} />}
      </Opens>
    </section>
  )
}

function SetLimit({ limit, close }: { limit: number | null; close: () => void }) {
  const t = useWords("admin")
  const change = useChange()
  const [text, setText] = useState(limit?.toString() ?? "")
  const put = () => change(api.PUT("/api/v1/limits", { body: { limit: boundIn(text) } }), t("settings.limit_set"))
  return (
    <Form submit={t("save")} act={put} then={close}>
      <Field
        words={t("settings.limit_field")}
        hint={t("settings.limit_hint")}
        type="number"
        min={0}
        value={text}
        change={setText}
      />
    </Form>
  )
}

function Backup() {
  const t = useWords("admin")
  const enabled = useMay()("server.see")
  const { data } = asked.useQuery("get", "/api/v1/cluster", undefined, { enabled })
  // Only several servers can share a store, and only the embedded one is ours to copy.
  const shared = (data?.servers.length ?? 0) > 0
  const take = async () => {
    const file = await done(api.POST("/api/v1/backup", { parseAs: "blob" }))
    save(file as Blob, "duly-backup.db")
    return undefined
  }
  const ask = { title: t("settings.backup_ask"), text: t("settings.backup_hint"), yes: t("settings.backup_go") }
  return (
    <section className="card">
      <h2>{t("settings.backup")}</h2>
      <p>{shared ? t("settings.backup_shared") : t("settings.backup_text")}</p>
      {!shared && (
        <Act needs="system.edit" ask={ask} act={take}>
          {t("settings.backup_go")}
        </Act>
      )}
    </section>
  )
}

function Quarantine() {
  const t = useWords("admin")
  const asking = asked.useQuery("get", "/api/v1/quarantine", undefined, SLOWLY)
  const columns: Column<Schemas["QuarantineView"]>[] = [
    { key: "at", title: t("audit.at"), show: (one) => <Moment at={one.at} /> },
    { key: "job", title: t("resources.job"), show: (one) => one.job ?? "–" },
    { key: "error", title: t("settings.error"), wide: "rest", show: (one) => one.error },
  ]
  return (
    <section aria-labelledby="quarantine">
      <h2 id="quarantine">{t("settings.quarantine")}</h2>
      <List
        label={t("settings.quarantine")}
        asking={asking}
        columns={columns}
        id={(one) => `${one.at}${one.job}`}
        empty={<p className="soft">{t("settings.quarantine_none")}</p>}
      />
    </section>
  )
}
