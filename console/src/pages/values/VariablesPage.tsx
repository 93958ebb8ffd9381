// Variables: values that jobs name as ${name}, set for the installation, a tenant or a folder.
import { useMemo, useState } from "react"
import { api, asked, type Schemas } from "../../api/client"
import { Act } from "../../parts/Act"
import { useChange, useUndoable } from "../../parts/change"
import { Empty } from "../../parts/Empty"
import { Area, Field, Tick } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { List } from "../../parts/List"
import { Moment } from "../../parts/Moment"
import { useMay } from "../../parts/may"
import type { Column } from "../../parts/Rows"
import { SLOWLY } from "../../parts/slowly"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { ValueTabs } from "./ValueTabs"

type Variable = Schemas["VariableView"]

export function VariablesPage() {
  const t = useWords("admin")
  const asking = asked.useQuery("get", "/api/v1/variables", undefined, SLOWLY)
  useTitle(t("variables.title"))
  return (
    <>
      <ValueTabs />
      <div className="head">
        <h1>{t("variables.title")}</h1>
        <span className="grow" />
        <Opens type="primary" needs="variable.edit" words={t("variables.make")} title={t("variables.make")}>
          {(close) => <Edit close={close} />}
        </Opens>
      </div>
      <p className="soft">{t("variables.intro")}</p>
      <List
        label={t("variables.title")}
        asking={asking}
        columns={useColumns()}
        id={(one) => `${one.level}/${one.folder}/${one.name}`}
        empty={<Empty title={t("variables.empty")} hint={t("variables.empty_hint")} />}
      />
    </>
  )
}

function useColumns(): Column<Variable>[] {
  const t = useWords("admin")
  return useMemo(
    () => [
      { key: "name", title: t("variables.name"), show: (one) => <code>{one.name}</code> },
      { key: "value", title: t("variables.value"), wide: "rest", show: (one) => one.value },
      {
        key: "level",
        title: t("variables.level"),
        show: (one) =>
          one.folder ? t("variables.in_folder", { folder: one.folder }) : t(`variables.levels.${one.level}`),
      },
      { key: "by", title: t("variables.changed_by"), show: (one) => one.changed_by },
      { key: "at", title: t("variables.changed_at"), show: (one) => <Moment at={one.changed_at} /> },
      { key: "actions", title: t("made.actions"), show: (one) => <Actions variable={one} /> },
    ],
    [t],
  )
}

/** One that is there, with this value. */
function write({ name, level, folder }: Variable, value: string) {
  const body = { value, platform: level === "platform", folder }
  return api.PUT("/api/v1/variables/{name}", { params: { path: { name } }, body })
}

function Actions({ variable }: { variable: Variable }) {
  const t = useWords("admin")
  const undoable = useUndoable()
  const { name, folder } = variable
  const platform = variable.level === "platform"
  const needs = platform ? "system.edit" : "variable.edit"
  const place = platform ? {} : { place: { folder } }
  const remove = () => {
    const query = { folder: folder ?? undefined, platform: platform || undefined }
    const asking = api.DELETE("/api/v1/variables/{name}", { params: { path: { name }, query } })
    return undoable(asking, t("variables.deleted", { name }), () => write(variable, variable.value))
  }
  return (
    <span className="actions">
      <Opens
        size="small"
        needs={needs}
        {...place}
        words={t("change")}
        title={t("variables.change", { name })}
        aria-label={t("variables.change", { name })}
      >
        {(close) => <Edit variable={variable} close={close} />}
      </Opens>
      <Act
        size="small"
        danger
        needs={needs}
        {...place}
        aria-label={`${t("delete")}: ${name}`}
        title={t("variables.delete_hint")}
        act={remove}
      >
        {t("delete")}
      </Act>
    </span>
  )
}

function Edit({ variable, close }: { variable?: Variable; close: () => void }) {
  const t = useWords("admin")
  const change = useChange()
  const undoable = useUndoable()
  const mayEverywhere = useMay()("system.edit")
  const [name, setName] = useState(variable?.name ?? "")
  const [value, setValue] = useState(variable?.value ?? "")
  const [folder, setFolder] = useState(variable?.folder ?? "")
  const [platform, setPlatform] = useState(variable?.level === "platform")
  const put = () => {
    if (variable)
      return undoable(write(variable, value), t("variables.set", { name }), () => write(variable, variable.value))
    const body = { value, platform, folder: platform ? null : folder.trim() || null }
    const asking = api.PUT("/api/v1/variables/{name}", { params: { path: { name: name.trim() } }, body })
    return change(asking, t("variables.set", { name }))
  }
  return (
    <Form submit={t("save")} act={put} then={close}>
      {!variable && <Field words={t("variables.name")} required value={name} change={setName} placeholder="region" />}
      <Area words={t("variables.value")} rows={2} value={value} change={setValue} />
      {!variable && mayEverywhere && <Tick words={t("variables.platform")} value={platform} change={setPlatform} />}
      {!variable && !platform && (
        <Field words={t("variables.folder")} hint={t("variables.folder_hint")} value={folder} change={setFolder} />
      )}
    </Form>
  )
}
