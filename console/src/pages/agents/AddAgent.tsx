// Another machine joins: a one-time token, and the command to paste there.
import { useState } from "react"
import { api, type Schemas } from "../../api/client"
import { done } from "../../parts/Act"
import { Field, Tick } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Once } from "../../parts/form/Once"
import { Opens } from "../../parts/form/Opens"
import { Moment } from "../../parts/Moment"
import { useMay } from "../../parts/may"
import { useWords } from "../../parts/words"
import { labelsIn, wordsIn } from "../../parts/written"

export function AddAgent() {
  const t = useWords("admin")
  return (
    <Opens type="primary" needs="agent.edit" words={t("join.open")} title={t("join.open")}>
      {() => <Join />}
    </Opens>
  )
}

function Join() {
  const t = useWords("admin")
  const mayShare = useMay()("tenant.edit")
  const [pools, setPools] = useState("")
  const [labels, setLabels] = useState("")
  const [everyone, setEveryone] = useState(false)
  const [made, setMade] = useState<Schemas["JoinTokenView"]>()
  const make = async () => {
    const sharing = everyone ? { everyone: true } : {}
    const body = { pools: wordsIn(pools), labels: labelsIn(labels), sharing }
    setMade(await done(api.POST("/api/v1/join-tokens", { body })))
    return undefined
  }
  if (made) return <Command made={made} />
  return (
    <Form submit={t("join.make")} act={make}>
      <p className="soft">{t("join.intro")}</p>
      <Field words={t("join.pools")} hint={t("join.pools_hint")} value={pools} change={setPools} placeholder="etl" />
      <Field
        words={t("join.labels")}
        hint={t("join.labels_hint")}
        value={labels}
        change={setLabels}
        placeholder="disk=ssd"
      />
      {mayShare && (
        <Tick words={t("join.everyone")} hint={t("join.everyone_hint")} value={everyone} change={setEveryone} />
      )}
    </Form>
  )
}

function Command({ made }: { made: Schemas["JoinTokenView"] }) {
  const t = useWords("admin")
  const { token, servers = [], expires_at } = made
  const command = `printf %s '${token}' > join.txt\nduly agent --server ${servers.join(",")} --join-token-file join.txt`
  return (
    <div className="form">
      <Once words={t("join.paste")} text={command} />
      {servers.every(isHere) && <p>{t("join.only_here")}</p>}
      <p className="soft">
        {t("join.until")} <Moment at={expires_at} />
      </p>
    </div>
  )
}

/** Nobody dials it from another machine. */
function isHere(server: string): boolean {
  return /^https?:\/\/(127\.|localhost|\[::1\])/.test(server)
}
