// Tokens by which XXL-JOB executors and this server know each other.
import { useMemo, useState } from "react"
import { api, asked, type Schemas } from "../../api/client"
import { Act, done } from "../../parts/Act"
import { useChange } from "../../parts/change"
import { Empty } from "../../parts/Empty"
import { Field } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Once } from "../../parts/form/Once"
import { Opens } from "../../parts/form/Opens"
import { List } from "../../parts/List"
import { Moment } from "../../parts/Moment"
import type { Column } from "../../parts/Rows"
import { SLOWLY } from "../../parts/slowly"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { AgentTabs } from "./AgentsPage"

type Token = Schemas["XxlTokenView"]

export function XxlTokensPage() {
  const t = useWords("admin")
  const asking = asked.useQuery("get", "/api/v1/xxl-tokens", undefined, SLOWLY)
  useTitle(t("xxl.title"))
  return (
    <>
      <AgentTabs />
      <div className="head">
        <h1>{t("xxl.title")}</h1>
        <span className="grow" />
        <Opens type="primary" needs="agent.edit" words={t("xxl.make")} title={t("xxl.make")}>
          {() => <Make />}
        </Opens>
      </div>
      <p className="soft">{t("xxl.intro")}</p>
      <List
        label={t("xxl.title")}
        asking={asking}
        columns={useColumns()}
        id={(token) => token.id}
        empty={<Empty title={t("xxl.empty")} hint={t("xxl.empty_hint")} />}
      />
    </>
  )
}

function useColumns(): Column<Token>[] {
  const t = useWords("admin")
  const change = useChange()
  return useMemo(
    () => [
      { key: "id", title: t("xxl.number"), show: (token) => token.id },
      { key: "pool", title: t("xxl.pool"), wide: "rest", show: (token) => token.pool ?? t("xxl.any_pool") },
      { key: "by", title: t("made.by"), show: (token) => token.created_by },
      { key: "at", title: t("made.at"), show: (token) => <Moment at={token.created_at} /> },
      {
        key: "actions",
        title: t("made.actions"),
        show: (token) => (
          <Act
            size="small"
            danger
            needs="agent.edit"
            ask={{
              title: t("xxl.revoke_ask", { id: token.id }),
              text: t("xxl.revoke_hint"),
              yes: t("xxl.revoke"),
              danger: true,
            }}
            act={() =>
              change(api.DELETE("/api/v1/xxl-tokens/{id}", { params: { path: { id: token.id } } }), t("xxl.revoked"))
            }
          >
            {t("xxl.revoke")}
          </Act>
        ),
      },
    ],
    [t, change],
  )
}

function Make() {
  const t = useWords("admin")
  const [pool, setPool] = useState("")
  const [made, setMade] = useState<string>()
  const make = async () => {
    const body = { pool: pool.trim() || null }
    setMade((await done(api.POST("/api/v1/xxl-tokens", { body }))).token)
    return undefined
  }
  if (made) return <Once words={t("xxl.once")} text={`xxl.job.accessToken=${made}`} />
  return (
    <Form submit={t("xxl.make")} act={make}>
      <Field words={t("xxl.pool")} hint={t("xxl.pool_hint")} value={pool} change={setPool} />
    </Form>
  )
}
