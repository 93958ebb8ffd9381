// API tokens, one's own or somebody's: listed, made (shown once), revoked.
import { useMemo, useState } from "react"
import { api, asked, type Schemas } from "../../api/client"
import { Act, done } from "../../parts/Act"
import { useChange } from "../../parts/change"
import { Empty } from "../../parts/Empty"
import { Choice, Field, Tick } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Once } from "../../parts/form/Once"
import { Opens } from "../../parts/form/Opens"
import { List } from "../../parts/List"
import { Moment } from "../../parts/Moment"
import type { Column } from "../../parts/Rows"
import { SLOWLY } from "../../parts/slowly"
import { useWords } from "../../parts/words"
import { Picker } from "./Picker"

type Token = Schemas["TokenView"]
type Listing = React.ComponentProps<typeof List<Token>>["asking"]

export function OwnTokens() {
  return <Listed asking={asked.useQuery("get", "/api/v1/tokens", undefined, SLOWLY)} />
}

export function TokensOf({ person }: { person: string }) {
  const params = { path: { name: person } }
  return <Listed asking={asked.useQuery("get", "/api/v1/people/{name}/tokens", { params }, SLOWLY)} person={person} />
}

function Listed({ asking, person }: { asking: Listing; person?: string }) {
  const t = useWords("admin")
  const needs = person === undefined ? {} : { needs: "person.edit" }
  return (
    <section aria-labelledby="tokens">
      <div className="head">
        <h2 id="tokens">{t("tokens.title")}</h2>
        <span className="grow" />
        <Opens {...needs} words={t("tokens.make")} title={t("tokens.make")}>
          {() => <Make {...(person === undefined ? {} : { person })} />}
        </Opens>
      </div>
      <List
        label={t("tokens.title")}
        asking={asking}
        columns={useColumns(person)}
        id={(token) => token.id}
        empty={<Empty title={t("tokens.empty")} hint={t("tokens.empty_hint")} />}
      />
    </section>
  )
}

function useColumns(person: string | undefined): Column<Token>[] {
  const t = useWords("admin")
  const change = useChange()
  return useMemo(() => {
    const revoke = (id: number) =>
      person === undefined
        ? api.DELETE("/api/v1/tokens/{id}", { params: { path: { id } } })
        : api.DELETE("/api/v1/people/{name}/tokens/{id}", { params: { path: { name: person, id } } })
    return [
      { key: "name", title: t("tokens.name"), wide: "rest", show: (token) => token.name },
      { key: "scope", title: t("tokens.scope"), wide: "rest", show: (token) => <Scope token={token} /> },
      { key: "used", title: t("tokens.used"), show: (token) => <Moment at={token.last_used_at} /> },
      {
        key: "expires",
        title: t("tokens.expires"),
        show: (token) => (token.expires_at ? <Moment at={token.expires_at} /> : t("tokens.never")),
      },
      {
        key: "actions",
        title: t("made.actions"),
        show: (token) => (
          <Act
            size="small"
            danger
            {...(person === undefined ? {} : { needs: "person.edit" })}
            aria-label={`${t("tokens.revoke")}: ${token.name}`}
            ask={{
              title: t("tokens.revoke_ask", { name: token.name }),
              text: t("tokens.revoke_hint"),
              yes: t("tokens.revoke"),
              danger: true,
            }}
            act={() => change(revoke(token.id), t("tokens.revoked", { name: token.name }))}
          >
            {t("tokens.revoke")}
          </Act>
        ),
      },
    ]
  }, [t, change, person])
}

function Scope({ token }: { token: Token }) {
  const t = useWords("admin")
  const scope = token.scope ?? []
  return (
    <span>
      {scope.length > 0 ? scope.join(", ") : t("tokens.all")}
      {token.tenant && ` · ${t("tokens.only_in", { tenant: token.tenant })}`}
    </span>
  )
}

const LASTS = ["1d", "30d", "90d", "365d", ""] as const

function Make({ person }: { person?: string }) {
  const t = useWords("admin")
  const [name, setName] = useState("")
  const [lasts, setLasts] = useState<(typeof LASTS)[number]>("90d")
  const [here, setHere] = useState(false)
  const [scope, setScope] = useState<string[]>([])
  const [made, setMade] = useState<string>()
  const make = async () => {
    const body = { name: name.trim(), expires_in: lasts || null, only_here: here, scope }
    const asking =
      person === undefined
        ? api.POST("/api/v1/tokens", { body })
        : api.POST("/api/v1/people/{name}/tokens", { params: { path: { name: person } }, body })
    setMade((await done<Schemas["TokenCreatedView"]>(asking)).token)
    return undefined
  }
  if (made) return <Once words={t("tokens.once")} text={made} />
  const words = {
    "1d": t("tokens.day"),
    "30d": t("tokens.month"),
    "90d": t("tokens.quarter"),
    "365d": t("tokens.year"),
  }
  const options = LASTS.map((one) => [one, one === "" ? t("tokens.never") : words[one]] as const)
  return (
    <Form submit={t("tokens.make")} act={make}>
      <Field words={t("tokens.name")} hint={t("tokens.name_hint")} required value={name} change={setName} />
      <Choice words={t("tokens.lasts")} value={lasts} change={setLasts} options={options} />
      <Tick words={t("tokens.only_here")} value={here} change={setHere} />
      <Picker words={t("tokens.scope")} hint={t("tokens.scope_hint")} value={scope} change={setScope} />
    </Form>
  )
}
