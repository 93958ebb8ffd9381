// Everybody who has an account: people and programs.
import { useMemo, useState } from "react"
import { api, asked, type Schemas } from "../../api/client"
import { useChange } from "../../parts/change"
import { Empty } from "../../parts/Empty"
import { Choice, Field, Tick } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { List } from "../../parts/List"
import { Moment } from "../../parts/Moment"
import type { Column } from "../../parts/Rows"
import { SLOWLY } from "../../parts/slowly"
import { To } from "../../parts/To"
import { useTitle } from "../../parts/title"
import { hasProvider } from "../../parts/told"
import { useWords } from "../../parts/words"
import { PeopleTabs } from "./PeopleTabs"
import { PersonState } from "./PersonState"

type Person = Schemas["PersonView"]

export function PeoplePage() {
  const t = useWords("admin")
  const asking = asked.useQuery("get", "/api/v1/people", undefined, SLOWLY)
  useTitle(t("people.title"))
  return (
    <>
      <PeopleTabs />
      <div className="head">
        <h1>{t("people.title")}</h1>
        <span className="grow" />
        <Opens type="primary" needs="person.edit" words={t("people.make")} title={t("people.make")}>
          {(close) => <Make close={close} />}
        </Opens>
      </div>
      <List
        label={t("people.title")}
        asking={asking}
        columns={useColumns()}
        id={(person) => person.name}
        empty={<Empty title={t("people.empty")} />}
      />
    </>
  )
}

function useColumns(): Column<Person>[] {
  const t = useWords("admin")
  return useMemo(
    () => [
      {
        key: "name",
        title: t("people.name"),
        wide: "rest",
        show: (person) => <To to={`/people/${encodeURIComponent(person.name)}`}>{person.name}</To>,
      },
      { key: "state", title: t("people.state"), show: (person) => <PersonState person={person} /> },
      { key: "kind", title: t("people.kind"), show: (person) => t(`people.kinds.${person.kind}`) },
      { key: "groups", title: t("people.groups"), show: (person) => person.groups.join(", ") || "–" },
      { key: "made", title: t("people.made_at"), show: (person) => <Moment at={person.created_at} /> },
    ],
    [t],
  )
}

function Make({ close }: { close: () => void }) {
  const t = useWords("admin")
  const change = useChange()
  const [name, setName] = useState("")
  const [kind, setKind] = useState<Person["kind"]>("person")
  const [password, setPassword] = useState("")
  const [provider, setProvider] = useState(false)
  const wantsPassword = kind === "person" && !provider
  const make = () => {
    const body = { name: name.trim(), kind, provider, password: wantsPassword ? password : null }
    return change(api.POST("/api/v1/people", { body }), t("people.made", { name: body.name }))
  }
  return (
    <Form submit={t("people.make")} act={make} then={close}>
      <Field words={t("people.name")} hint={t("people.name_hint")} required value={name} change={setName} />
      <Choice
        words={t("people.kind")}
        hint={t("people.kind_hint")}
        value={kind}
        change={setKind}
        options={[
          ["person", t("people.kinds.person")],
          ["service", t("people.kinds.service")],
        ]}
      />
      {kind === "person" && hasProvider && <Tick words={t("people.provider")} value={provider} change={setProvider} />}
      {wantsPassword && (
        <Field
          words={t("people.password")}
          hint={t("people.password_hint")}
          type="password"
          autoComplete="new-password"
          required
          value={password}
          change={setPassword}
        />
      )}
    </Form>
  )
}
