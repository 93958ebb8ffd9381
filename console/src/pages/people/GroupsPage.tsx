// Groups: who is in them.
import { useMemo, useState } from "react"
import { api, asked, type Schemas } from "../../api/client"
import { Act } from "../../parts/Act"
import { useChange } from "../../parts/change"
import { Empty } from "../../parts/Empty"
import { Field } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Opens } from "../../parts/form/Opens"
import { List } from "../../parts/List"
import type { Column } from "../../parts/Rows"
import { SLOWLY } from "../../parts/slowly"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { PeopleTabs } from "./PeopleTabs"

type Group = Schemas["GroupView"]

export function GroupsPage() {
  const t = useWords("admin")
  const asking = asked.useQuery("get", "/api/v1/groups", undefined, SLOWLY)
  useTitle(t("groups.title"))
  return (
    <>
      <PeopleTabs />
      <div className="head">
        <h1>{t("groups.title")}</h1>
        <span className="grow" />
        <Opens type="primary" needs="person.edit" words={t("groups.make")} title={t("groups.make")}>
          {(close) => <Make close={close} />}
        </Opens>
      </div>
      <p className="soft">{t("groups.intro")}</p>
      <List
        label={t("groups.title")}
        asking={asking}
        columns={useColumns()}
        id={(group) => group.name}
        empty={<Empty title={t("groups.empty")} hint={t("groups.empty_hint")} />}
      />
    </>
  )
}

function useColumns(): Column<Group>[] {
  const t = useWords("admin")
  return useMemo(
    () => [
      { key: "name", title: t("groups.name"), show: (group) => group.name },
      { key: "members", title: t("groups.members"), wide: "rest", show: (group) => <Members group={group} /> },
      { key: "by", title: t("made.by"), show: (group) => group.created_by },
      { key: "actions", title: t("made.actions"), show: (group) => <Actions group={group} /> },
    ],
    [t],
  )
}

function Members({ group }: { group: Group }) {
  const t = useWords("admin")
  const change = useChange()
  const name = group.name
  if (group.members.length === 0) return <span className="soft">{t("groups.nobody")}</span>
  return (
    <span className="actions">
      {group.members.map((person) => (
        <span key={person} className="tag tag-calm">
          {person}
          <Act
            size="small"
            type="text"
            needs="person.edit"
            aria-label={t("groups.leave", { person, name })}
            act={() =>
              change(
                api.DELETE("/api/v1/groups/{name}/members/{person}", { params: { path: { name, person } } }),
                t("groups.left", { person, name }),
              )
            }
          >
            ✕
          </Act>
        </span>
      ))}
    </span>
  )
}

function Actions({ group }: { group: Group }) {
  const t = useWords("admin")
  const change = useChange()
  const { name } = group
  const remove = () =>
    change(api.DELETE("/api/v1/groups/{name}", { params: { path: { name } } }), t("groups.deleted", { name }))
  return (
    <span className="actions">
      <Opens
        size="small"
        needs="person.edit"
        words={t("groups.add")}
        title={t("groups.add_ask", { name })}
        aria-label={`${t("groups.add")}: ${name}`}
      >
        {(close) => <Add group={group} close={close} />}
      </Opens>
      <Act
        size="small"
        danger
        needs="person.edit"
        aria-label={`${t("delete")}: ${name}`}
        ask={{ title: t("groups.delete_ask", { name }), text: t("groups.delete_hint"), yes: t("delete"), danger: true }}
        act={remove}
      >
        {t("delete")}
      </Act>
    </span>
  )
}

function Make({ close }: { close: () => void }) {
  const t = useWords("admin")
  const change = useChange()
  const [name, setName] = useState("")
  const make = () => change(api.POST("/api/v1/groups", { body: { name: name.trim() } }), t("groups.made", { name }))
  return (
    <Form submit={t("groups.make")} act={make} then={close}>
      <Field words={t("groups.name")} required value={name} change={setName} />
    </Form>
  )
}

function Add({ group, close }: { group: Group; close: () => void }) {
  const t = useWords("admin")
  const change = useChange()
  const people = asked.useQuery("get", "/api/v1/people", undefined, SLOWLY)
  const [person, setPerson] = useState("")
  const { name } = group
  const join = () => {
    const params = { path: { name, person: person.trim() } }
    return change(api.PUT("/api/v1/groups/{name}/members/{person}", { params }), t("groups.joined", { person, name }))
  }
  const others = people.data?.items.map((one) => one.name).filter((one) => !group.members.includes(one)) ?? []
  return (
    <Form submit={t("groups.add")} act={join} then={close}>
      <Field words={t("people.name")} required value={person} change={setPerson} choices={others} />
    </Form>
  )
}
