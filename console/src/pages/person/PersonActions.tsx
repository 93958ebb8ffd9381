// What can be done to an account.
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { api, type Schemas } from "../../api/client"
import { Act } from "../../parts/Act"
import { useChange } from "../../parts/change"
import { Field } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { useWords } from "../../parts/words"

export function PersonActions({ person }: { person: Schemas["PersonView"] }) {
  const t = useWords("admin")
  const change = useChange()
  const navigate = useNavigate()
  const { name } = person
  const params = { path: { name } }
  const away = () => navigate({ to: "/people" })
  const remove = () => change(api.DELETE("/api/v1/people/{name}", { params }), t("people.deleted", { name }), away)
  const locked = person.locked_until !== null && Date.parse(person.locked_until) > Date.now()
  return (
    <span className="actions">
      {locked && (
        <Act
          needs="person.edit"
          act={() => change(api.POST("/api/v1/people/{name}/unlock", { params }), t("people.unlocked", { name }))}
        >
          {t("people.unlock")}
        </Act>
      )}
      {person.kind === "person" && (
        <Opens needs="person.edit" words={t("people.set_password")} title={t("people.set_password_ask", { name })}>
          {(close) => <Password name={name} close={close} />}
        </Opens>
      )}
      {person.disabled_at ? (
        <Act
          needs="person.edit"
          act={() => change(api.POST("/api/v1/people/{name}/enable", { params }), t("people.enabled_done", { name }))}
        >
          {t("people.enable")}
        </Act>
      ) : (
        <Act
          needs="person.edit"
          ask={{ title: t("people.disable_ask", { name }), text: t("people.disable_hint"), yes: t("people.disable") }}
          act={() => change(api.POST("/api/v1/people/{name}/disable", { params }), t("people.disabled_done", { name }))}
        >
          {t("people.disable")}
        </Act>
      )}
      <Act
        danger
        needs="person.edit"
        ask={{ title: t("people.delete_ask", { name }), text: t("people.delete_hint"), yes: t("delete"), danger: true }}
        act={remove}
      >
        {t("delete")}
      </Act>
    </span>
  )
}

function Password({ name, close }: { name: string; close: () => void }) {
  const t = useWords("admin")
  const change = useChange()
  const [password, setPassword] = useState("")
  const set = () => {
    const asking = api.PUT("/api/v1/people/{name}/password", { params: { path: { name } }, body: { password } })
    return change(asking, t("people.password_done", { name }))
  }
  return (
    <Form submit={t("people.set_password")} act={set} then={close}>
      <Field
        words={t("people.password")}
        hint={t("people.password_hint")}
        type="password"
        autoComplete="new-password"
        required
        value={password}
        change={setPassword}
      />
    </Form>
  )
}
