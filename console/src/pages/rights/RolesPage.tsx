// Roles: named sets of permissions, the built-in ones explained in a sentence.
import { useMemo, useState } from "react"
import { api, asked, type Schemas } from "../../api/client"
import { Act } from "../../parts/Act"
import { useChange } from "../../parts/change"
import { Field } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { List } from "../../parts/List"
import type { Column } from "../../parts/Rows"
import { Tag } from "../../parts/StateTag"
import { SLOWLY } from "../../parts/slowly"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { PeopleTabs } from "../people/PeopleTabs"
import { Permissions } from "../people/Permissions"
import { Picker } from "../people/Picker"
import { builtIn } from "./builtIn"

type Role = Schemas["RoleView"]

export function RolesPage() {
  const t = useWords("admin")
  const asking = asked.useQuery("get", "/api/v1/roles", undefined, SLOWLY)
  useTitle(t("roles.title"))
  return (
    <>
      <PeopleTabs />
      <div className="head">
        <h1>{t("roles.title")}</h1>
        <span className="grow" />
        <Opens type="primary" needs="role.edit" words={t("roles.make")} title={t("roles.make")}>
          {(close) => <Edit close={close} />}
        </Opens>
      </div>
      <p className="soft">{t("roles.intro")}</p>
      <List label={t("roles.title")} asking={asking} columns={useColumns()} id={(role) => role.name} empty={null} />
    </>
  )
}

function useColumns(): Column<Role>[] {
  const t = useWords("admin")
  return useMemo(
    () => [
      { key: "name", title: t("roles.name"), show: (role) => <strong>{role.name}</strong> },
      { key: "permissions", title: t("roles.permissions"), wide: "rest", show: (role) => <Meaning role={role} /> },
      {
        key: "actions",
        title: t("made.actions"),
        show: (role) => (role.built_in ? <Tag tone="calm">{t("roles.built_in")}</Tag> : <Actions role={role} />),
      },
    ],
    [t],
  )
}

function Meaning({ role }: { role: Role }) {
  const t = useWords("admin")
  const known = builtIn(role.name)
  if (!role.built_in || !known) return <Permissions names={role.permissions} />
  return (
    <details>
      <summary>{t(`roles.explained.${known}`)}</summary>
      <Permissions names={role.permissions} />
    </details>
  )
}

function Actions({ role }: { role: Role }) {
  const t = useWords("admin")
  const change = useChange()
  const { name } = role
  const remove = () =>
    change(api.DELETE("/api/v1/roles/{name}", { params: { path: { name } } }), t("roles.deleted", { name }))
  return (
    <span className="actions">
      <Opens
        size="small"
        needs="role.edit"
        words={t("change")}
        title={t("roles.change", { name })}
        aria-label={t("roles.change", { name })}
      >
        {(close) => <Edit role={role} close={close} />}
      </Opens>
      <Act
        size="small"
        danger
        needs="role.edit"
        aria-label={`${t("delete")}: ${name}`}
        ask={{ title: t("roles.delete_ask", { name }), text: t("roles.delete_hint"), yes: t("delete"), danger: true }}
        act={remove}
      >
        {t("delete")}
      </Act>
    </span>
  )
}

function Edit({ role, close }: { role?: Role; close: () => void }) {
  const t = useWords("admin")
  const change = useChange()
  const [name, setName] = useState(role?.name ?? "")
  const [permissions, setPermissions] = useState(role?.permissions ?? [])
  const put = () => {
    const params = { path: { name: name.trim() } }
    return change(api.PUT("/api/v1/roles/{name}", { params, body: { permissions } }), t("roles.set", { name }))
  }
  return (
    <Form submit={t("save")} act={put} then={close} disabled={permissions.length === 0}>
      {!role && <Field words={t("roles.name")} hint={t("roles.name_hint")} required value={name} change={setName} />}
      <Picker
        words={t("roles.permissions")}
        hint={t("roles.permissions_hint")}
        value={permissions}
        change={setPermissions}
      />
    </Form>
  )
}
