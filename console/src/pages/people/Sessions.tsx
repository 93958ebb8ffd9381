// Where somebody is signed in, and an end to it.
import { useMemo } from "react"
import { api, asked, type Schemas } from "../../api/client"
import { Act } from "../../parts/Act"
import { useChange } from "../../parts/change"
import { Empty } from "../../parts/Empty"
import { List } from "../../parts/List"
import { Moment } from "../../parts/Moment"
import type { Column } from "../../parts/Rows"
import { Tag } from "../../parts/StateTag"
import { SLOWLY } from "../../parts/slowly"
import { useWords } from "../../parts/words"
import { programOf } from "./program"

type Session = Schemas["SessionInfoView"]

const end = (id: string) => api.DELETE("/api/v1/sessions/{session}", { params: { path: { session: id } } })

export function OwnSessions() {
  const t = useWords("admin")
  const change = useChange()
  const asking = asked.useQuery("get", "/api/v1/sessions", undefined, SLOWLY)
  const shown = useColumns()
  const columns = useMemo(() => {
    const ending: Column<Session> = {
      key: "actions",
      title: t("made.actions"),
      show: (session) =>
        session.current ? (
          "–"
        ) : (
          <Act size="small" act={() => change(end(session.id), t("sessions.ended"))}>
            {t("sessions.end")}
          </Act>
        ),
    }
    return [...shown, ending]
  }, [shown, t, change])
  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">{t("sessions.title")}</h2>
      <List
        label={t("sessions.title")}
        asking={asking}
        columns={columns}
        id={(session) => session.id}
        empty={<Empty title={t("sessions.empty")} />}
      />
    </section>
  )
}

export function SessionsOf({ person }: { person: string }) {
  const t = useWords("admin")
  const change = useChange()
  const params = { path: { name: person } }
  const asking = asked.useQuery("get", "/api/v1/people/{name}/sessions", { params }, SLOWLY)
  const ask = {
    title: t("sessions.end_all_ask", { name: person }),
    text: t("sessions.end_all_hint"),
    yes: t("sessions.end_all"),
  }
  return (
    <section aria-labelledby="sessions">
      <div className="head">
        <h2 id="sessions">{t("sessions.title")}</h2>
        <span className="grow" />
        <Act
          needs="person.edit"
          ask={ask}
          disabled={(asking.data?.items.length ?? 0) === 0}
          act={() => change(api.DELETE("/api/v1/people/{name}/sessions", { params }), t("sessions.ended_all"))}
        >
          {t("sessions.end_all")}
        </Act>
      </div>
      <List
        label={t("sessions.title")}
        asking={asking}
        columns={useColumns()}
        id={(session) => session.id}
        empty={<Empty title={t("sessions.empty")} />}
      />
    </section>
  )
}

function useColumns(): Column<Session>[] {
  const t = useWords("admin")
  return useMemo(
    () => [
      {
        key: "program",
        title: t("sessions.program"),
        wide: "rest",
        show: (session) => (
          <span>
            <span title={session.program}>{programOf(session.program) || "–"}</span>{" "}
            {session.current && <Tag tone="busy">{t("sessions.current")}</Tag>}
          </span>
        ),
      },
      { key: "address", title: t("sessions.address"), show: (session) => session.address },
      { key: "way", title: t("sessions.way"), show: (session) => t(`sessions.ways.${session.way}`) },
      { key: "created", title: t("sessions.since"), show: (session) => <Moment at={session.created_at} /> },
      { key: "used", title: t("sessions.used"), show: (session) => <Moment at={session.last_used_at} /> },
      { key: "expires", title: t("sessions.expires"), show: (session) => <Moment at={session.expires_at} /> },
    ],
    [t],
  )
}
