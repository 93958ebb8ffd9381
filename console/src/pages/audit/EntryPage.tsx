// One entry of the audit: who did what, from where and why, and what was before and after.
import { Link, useParams } from "@tanstack/react-router"
import { asked, type Schemas } from "../../api/client"
import { Moment } from "../../parts/Moment"
import { ProblemBox } from "../../parts/ProblemBox"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { Loading } from "../../shell/Loading"
import { Diff } from "./Diff"
import { Outcome } from "./Outcome"

export function EntryPage() {
  const t = useWords("admin")
  const { seq } = useParams({ from: "/audit/$seq" })
  const { data, error } = asked.useQuery("get", "/api/v1/audit/{id}", { params: { path: { id: seq } } })
  useTitle(t("audit.entry", { seq }))
  if (error) return <ProblemBox error={error} />
  if (!data) return <Loading />
  return (
    <div className="stack">
      <div className="head">
        <h1>{t("audit.entry", { seq })}</h1>
        <Outcome outcome={data.entry.outcome} />
        <span className="grow" />
        <Link to="/audit">{t("audit.back")}</Link>
      </div>
      <Facts entry={data.entry} hash={data.hash} />
      <section className="card">
        <h2>{t("audit.diff")}</h2>
        <Diff before={data.entry.before} after={data.entry.after} />
      </section>
    </div>
  )
}

function Facts({ entry, hash }: { entry: Schemas["AuditEntry"]; hash: string }) {
  const t = useWords("admin")
  const facts: [string, React.ReactNode][] = [
    [t("audit.at"), <Moment key="at" at={entry.at} />],
    [
      t("audit.who"),
      entry.who && (
        <Link to="/audit" search={{ who: entry.who }}>
          {entry.who}
        </Link>
      ),
    ],
    [t("audit.by"), entry.by],
    [t("audit.from"), entry.from],
    [t("audit.operation"), <code key="operation">{entry.operation}</code>],
    ...Object.entries(entry.about ?? {}).map(([name, value]): [string, React.ReactNode] => [
      t("audit.about_name", { name }),
      <Link key={name} to="/audit" search={{ about: value }}>
        {value}
      </Link>,
    ]),
    [t("audit.reason"), entry.reason],
    [t("audit.server"), entry.server],
    [t("audit.request"), entry.request],
    [t("audit.more_like"), entry.more],
    [t("audit.hash"), <code key="hash">{hash}</code>],
  ]
  return (
    <section className="card">
      <h2>{t("audit.facts")}</h2>
      <dl className="facts">
        {facts
          .filter(([, value]) => value !== undefined && value !== null)
          .map(([name, value]) => [<dt key={`${name}name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
      </dl>
    </section>
  )
}
