// One account: how somebody gets in, what they may do and why, their tokens and sessions.
import { Link, useParams } from "@tanstack/react-router"
import { asked, type Schemas } from "../../api/client"
import { Moment } from "../../parts/Moment"
import { useMay } from "../../parts/may"
import { ProblemBox } from "../../parts/ProblemBox"
import { SLOWLY } from "../../parts/slowly"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { Loading } from "../../shell/Loading"
import { PersonState } from "../people/PersonState"
import { SessionsOf } from "../people/Sessions"
import { TokensOf } from "../people/Tokens"
import { GiveRole } from "../rights/GiveRole"
import { Effective } from "./Effective"
import { PersonActions } from "./PersonActions"

type Person = Schemas["PersonView"]

export function PersonPage() {
  const { name } = useParams({ from: "/people/$name" })
  const may = useMay()
  const asking = asked.useQuery("get", "/api/v1/people/{name}", { params: { path: { name } } }, SLOWLY)
  const { data, error } = asking
  useTitle(name)
  if (error) return <ProblemBox error={error} again={() => void asking.refetch()} />
  if (!data) return <Loading />
  return (
    <div className="stack">
      <div className="head">
        <h1>{name}</h1>
        <PersonState person={data} />
        <span className="grow" />
        <GiveRole person={name} />
        <PersonActions person={data} />
      </div>
      <Facts person={data} />
      {may("member.see") && <Effective person={data} />}
      <TokensOf person={name} />
      {data.kind === "person" && <SessionsOf person={name} />}
    </div>
  )
}

function Facts({ person }: { person: Person }) {
  const t = useWords("admin")
  const seesAudit = useMay()("audit.see")
  const ways = [
    person.has_password && t("people.by_password"),
    person.provider && t("people.by_provider"),
    person.kind === "service" && t("people.by_token"),
  ].filter((way) => way !== false)
  return (
    <section className="card">
      <h2>{t("people.facts")}</h2>
      <dl className="facts">
        <dt>{t("people.kind")}</dt>
        <dd>{t(`people.kinds.${person.kind}`)}</dd>
        <dt>{t("people.sign_in")}</dt>
        <dd>{ways.join(", ") || "–"}</dd>
        <dt>{t("people.groups")}</dt>
        <dd>{person.groups.join(", ") || "–"}</dd>
        <dt>{t("people.made_at")}</dt>
        <dd>
          <Moment at={person.created_at} /> <span className="soft">{t("made.line", { who: person.created_by })}</span>
        </dd>
      </dl>
      {seesAudit && (
        <p>
          <Link to="/audit" search={{ who: person.name }}>
            {t("people.audit")}
          </Link>
        </p>
      )}
    </section>
  )
}
