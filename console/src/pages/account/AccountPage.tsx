// Oneself: password, where one is signed in, tokens, and what one may do.
import { useState } from "react"
import { api } from "../../api/client"
import { useChange } from "../../parts/change"
import { Field } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { useWhoami } from "../../parts/may"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { OwnSessions } from "../people/Sessions"
import { OwnTokens } from "../people/Tokens"
import { Rights } from "./Rights"

const PASSWORD_MIN = 10

export function AccountPage() {
  const t = useWords("admin")
  const { data } = useWhoami()
  useTitle(t("account.title"))
  return (
    <div className="stack">
      <div className="head">
        <h1>{t("account.title")}</h1>
        <span>{data?.name}</span>
        <span className="grow" />
        <Opens words={t("account.password")} title={t("account.password")}>
          {(close) => <Password close={close} />}
        </Opens>
      </div>
      <OwnTokens />
      <OwnSessions />
      <Rights />
    </div>
  )
}

function Password({ close }: { close: () => void }) {
  const t = useWords("admin")
  const change = useChange()
  const [old, setOld] = useState("")
  const [fresh, setFresh] = useState("")
  const set = () => change(api.PUT("/api/v1/whoami/password", { body: { old, new: fresh } }), t("account.password_set"))
  return (
    <Form submit={t("account.password")} act={set} then={close}>
      <p className="soft">{t("account.password_hint")}</p>
      <Field
        words={t("account.old")}
        type="password"
        autoComplete="current-password"
        required
        value={old}
        change={setOld}
      />
      <Field
        words={t("account.fresh")}
        hint={t("account.fresh_hint")}
        type="password"
        autoComplete="new-password"
        required
        minLength={PASSWORD_MIN}
        value={fresh}
        change={setFresh}
      />
    </Form>
  )
}
