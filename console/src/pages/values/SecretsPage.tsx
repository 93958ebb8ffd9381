// Secrets: names, who uses them, when they changed. Values go in and never come out.
import { useMemo, useState } from "react"
import { api, asked, type Schemas } from "../../api/client"
import { Act, done } from "../../parts/Act"
import { useChange } from "../../parts/change"
import { Empty } from "../../parts/Empty"
import { Field } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { List } from "../../parts/List"
import { Moment } from "../../parts/Moment"
import type { Column } from "../../parts/Rows"
import { SLOWLY } from "../../parts/slowly"
import { To, toJob } from "../../parts/To"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { ValueTabs } from "./ValueTabs"

type Secret = Schemas["SecretView"]

export function SecretsPage() {
  const t = useWords("admin")
  const asking = asked.useQuery("get", "/api/v1/secrets", undefined, SLOWLY)
  useTitle(t("secrets.title"))
  return (
    <>
      <ValueTabs />
      <div className="head">
        <h1>{t("secrets.title")}</h1>
        <span className="grow" />
        <RotateKey />
        <Opens type="primary" needs="secret.edit" words={t("secrets.make")} title={t("secrets.make")}>
          {(close) => <Edit close={close} />}
        </Opens>
      </div>
      <p className="soft">{t("secrets.intro")}</p>
      <List
        label={t("secrets.title")}
        asking={asking}
        columns={useColumns()}
        id={(secret) => secret.name}
        empty={<Empty title={t("secrets.empty")} hint={t("secrets.empty_hint")} />}
      />
    </>
  )
}

function useColumns(): Column<Secret>[] {
  const t = useWords("admin")
  return useMemo(
    () => [
      { key: "name", title: t("secrets.name"), show: (secret) => <code>{secret.name}</code> },
      { key: "folder", title: t("secrets.folder"), show: (secret) => secret.folder ?? t("secrets.any_folder") },
      {
        key: "used",
        title: t("secrets.used_by"),
        wide: "rest",
        show: (secret) =>
          secret.used_by.length === 0 ? (
            <span className="soft">{t("secrets.unused")}</span>
          ) : (
            <span className="actions">
              {secret.used_by.map((job) => (
                <To key={job} to={toJob(job)}>
                  {job}
                </To>
              ))}
            </span>
          ),
      },
      { key: "version", title: t("secrets.version"), show: (secret) => secret.version },
      { key: "by", title: t("variables.changed_by"), show: (secret) => secret.changed_by },
      { key: "at", title: t("variables.changed_at"), show: (secret) => <Moment at={secret.changed_at} /> },
      { key: "actions", title: t("made.actions"), show: (secret) => <Actions secret={secret} /> },
    ],
    [t],
  )
}

function Actions({ secret }: { secret: Secret }) {
  const t = useWords("admin")
  const change = useChange()
  const { name, folder } = secret
  const remove = () =>
    change(api.DELETE("/api/v1/secrets/{name}", { params: { path: { name } } }), t("secrets.deleted", { name }))
  const count = secret.used_by.length
  return (
    <span className="actions">
      <Opens
        size="small"
        needs="secret.edit"
        place={{ folder }}
        words={t("secrets.renew")}
        title={t("secrets.renew_ask", { name })}
        aria-label={`${t("secrets.renew")}: ${name}`}
      >
        {(close) => <Edit secret={secret} close={close} />}
      </Opens>
      <Act
        size="small"
        danger
        needs="secret.edit"
        place={{ folder }}
        aria-label={`${t("delete")}: ${name}`}
        ask={{
          title: t("secrets.delete_ask", { name }),
          text: t("secrets.delete_hint", { count }),
          yes: t("delete"),
          danger: true,
        }}
        act={remove}
      >
        {t("delete")}
      </Act>
    </span>
  )
}

function Edit({ secret, close }: { secret?: Secret; close: () => void }) {
  const t = useWords("admin")
  const change = useChange()
  const [name, setName] = useState(secret?.name ?? "")
  const [value, setValue] = useState("")
  const [folder, setFolder] = useState(secret?.folder ?? "")
  const put = () => {
    const body = { value, folder: folder.trim() || null }
    const asking = api.PUT("/api/v1/secrets/{name}", { params: { path: { name: name.trim() } }, body })
    return change(asking, t("secrets.set", { name }))
  }
  return (
    <Form submit={t("save")} act={put} then={close}>
      {!secret && <Field words={t("secrets.name")} required value={name} change={setName} placeholder="db_password" />}
      <Field
        words={t("secrets.value")}
        hint={t("secrets.value_hint")}
        type="password"
        autoComplete="off"
        required
        value={value}
        change={setValue}
      />
      {!secret && (
        <Field words={t("secrets.folder")} hint={t("secrets.folder_hint")} value={folder} change={setFolder} />
      )}
    </Form>
  )
}

function RotateKey() {
  const t = useWords("admin")
  const rotate = async () => {
    const { moved } = await done(api.POST("/api/v1/secrets/rotate-key"))
    return t("secrets.rotated", { count: moved })
  }
  const ask = { title: t("secrets.rotate_ask"), text: t("secrets.rotate_hint"), yes: t("secrets.rotate") }
  return (
    <Act needs="system.edit" ask={ask} act={rotate}>
      {t("secrets.rotate")}
    </Act>
  )
}
