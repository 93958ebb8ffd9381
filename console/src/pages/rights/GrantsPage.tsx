// Who has which role, where, and by whom it was given.
import { useMemo } from "react"
import { api, asked, type Schemas } from "../../api/client"
import { Act } from "../../parts/Act"
import { useChange } from "../../parts/change"
import { Empty } from "../../parts/Empty"
import { List } from "../../parts/List"
import { Moment } from "../../parts/Moment"
import { useMay } from "../../parts/may"
import type { Column } from "../../parts/Rows"
import { Tag } from "../../parts/StateTag"
import { SLOWLY } from "../../parts/slowly"
import { To } from "../../parts/To"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { PeopleTabs } from "../people/PeopleTabs"
import { GiveRole } from "./GiveRole"
import { Scope } from "./Scope"

type Grant = Schemas["GrantView"]

export function GrantsPage() {
  const t = useWords("admin")
  const asking = asked.useQuery("get", "/api/v1/grants", undefined, SLOWLY)
  useTitle(t("grants.title"))
  return (
    <>
      <PeopleTabs />
      <div className="head">
        <h1>{t("grants.title")}</h1>
        <span className="grow" />
        <GiveRole />
      </div>
      <p className="soft">{t("grants.intro")}</p>
      <List
        label={t("grants.title")}
        asking={asking}
        columns={useColumns()}
        id={(grant) => grant.id}
        empty={<Empty title={t("grants.empty")} hint={t("grants.empty_hint")} />}
      />
    </>
  )
}

function useColumns(): Column<Grant>[] {
  const t = useWords("admin")
  return useMemo(
    () => [
      { key: "whom", title: t("grants.whom"), wide: "rest", show: (grant) => <Whom grant={grant} /> },
      { key: "role", title: t("grants.role"), show: (grant) => grant.role },
      { key: "where", title: t("grants.where"), show: (grant) => <Scope scope={grant} /> },
      { key: "by", title: t("made.by"), show: (grant) => grant.created_by },
      { key: "at", title: t("made.at"), show: (grant) => <Moment at={grant.created_at} /> },
      { key: "actions", title: t("made.actions"), show: (grant) => <TakeAway grant={grant} /> },
    ],
    [t],
  )
}

function Whom({ grant }: { grant: Grant }) {
  const t = useWords("admin")
  const mayLook = useMay()("person.see")
  if (grant.group !== null) return t("grants.group_of", { group: grant.group })
  const name = grant.person ?? ""
  return mayLook ? <To to={`/people/${encodeURIComponent(name)}`}>{name}</To> : name
}

export function TakeAway({ grant }: { grant: Grant }) {
  const t = useWords("admin")
  const change = useChange()
  const who = grant.person ?? t("grants.group_of", { group: grant.group })
  const { role } = grant
  // It comes back at the next sign-in.
  if (grant.from_provider) return <Tag tone="calm">{t("grants.provider")}</Tag>
  return (
    <Act
      size="small"
      danger
      needs="member.edit"
      aria-label={`${t("grants.take")}: ${role}, ${who}`}
      ask={{
        title: t("grants.take_ask", { role, who }),
        text: t("grants.take_hint"),
        yes: t("grants.take"),
        danger: true,
      }}
      act={() =>
        change(
          api.DELETE("/api/v1/grants/{id}", { params: { path: { id: grant.id } } }),
          t("grants.taken", { who, role }),
        )
      }
    >
      {t("grants.take")}
    </Act>
  )
}
