// Gives a role to a person or a group: in this tenant or everywhere, perhaps only in a folder or for labels.
import { useState } from "react"
import { api, asked } from "../../api/client"
import { useChange } from "../../parts/change"
import { Choice, Field, Tick } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { useMay } from "../../parts/may"
import { SLOWLY } from "../../parts/slowly"
import { useWords } from "../../parts/words"
import { labelsIn } from "../../parts/written"
import { builtIn } from "./builtIn"

/** To this person, if one is named. */
export function GiveRole({ person }: { person?: string }) {
  const t = useWords("admin")
  return (
    <Opens type="primary" needs="member.edit" words={t("grants.make")} title={t("grants.make")}>
      {(close) => <Give close={close} {...(person === undefined ? {} : { person })} />}
    </Opens>
  )
}

function Give({ person, close }: { person?: string; close: () => void }) {
  const t = useWords("admin")
  const change = useChange()
  const roles = asked.useQuery("get", "/api/v1/roles", undefined, SLOWLY)
  const [whom, setWhom] = useState<"person" | "group">("person")
  const [name, setName] = useState(person ?? "")
  const [role, setRole] = useState("viewer")
  const [everywhere, setEverywhere] = useState(false)
  const [folder, setFolder] = useState("")
  const [labels, setLabels] = useState("")
  const names = useNames(whom)
  const give = () => {
    const place = { folder: folder.trim() || null, labels: labelsIn(labels) }
    const body = { [whom]: name.trim(), role, everywhere, ...place }
    return change(api.POST("/api/v1/grants", { body }), t("grants.given", { who: name, role }))
  }
  const known = builtIn(role)
  const options = roles.data?.items.map((one) => [one.name, one.name] as const) ?? [["viewer", "viewer"]]
  return (
    <Form submit={t("grants.make")} act={give} then={close}>
      {person === undefined && (
        <Choice
          words={t("grants.whom")}
          value={whom}
          change={setWhom}
          options={[
            ["person", t("grants.person")],
            ["group", t("grants.group")],
          ]}
        />
      )}
      {person === undefined && (
        <Field words={t("grants.name")} required value={name} change={setName} choices={names} />
      )}
      <Choice
        words={t("grants.role")}
        hint={known && t(`roles.explained.${known}`)}
        value={role}
        change={setRole}
        options={options}
      />
      <Tick
        words={t("grants.everywhere")}
        hint={t("grants.everywhere_hint")}
        value={everywhere}
        change={setEverywhere}
      />
      <Field words={t("grants.folder")} hint={t("grants.folder_hint")} value={folder} change={setFolder} />
      <Field words={t("grants.labels")} hint={t("grants.labels_hint")} value={labels} change={setLabels} />
    </Form>
  )
}

/** Whom one could mean, for whoever may see them. */
function useNames(whom: "person" | "group"): string[] {
  const enabled = useMay()("person.see")
  const people = asked.useQuery("get", "/api/v1/people", undefined, { enabled })
  const groups = asked.useQuery("get", "/api/v1/groups", undefined, { enabled })
  return (whom === "person" ? people.data : groups.data)?.items.map((one) => one.name) ?? []
}
