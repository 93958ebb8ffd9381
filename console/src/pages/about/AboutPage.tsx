// What runs here, how every part of it is, how safely it is set up, and whether it kept every planned time.
import { Link } from "@tanstack/react-router"
import { asked } from "../../api/client"
import { useMay } from "../../parts/may"
import { ProblemBox } from "../../parts/ProblemBox"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { Harden } from "./Harden"
import { Health } from "./Health"
import { Ledger } from "./Ledger"

export function AboutPage() {
  const t = useWords("admin")
  const may = useMay()
  useTitle(t("about.title"))
  return (
    <div className="stack">
      <div className="head">
        <h1>{t("about.title")}</h1>
      </div>
      <div className="columns">
        <Version />
        <Health />
      </div>
      {may("system.see") && <Harden />}
      {may("job.see") && <Ledger />}
    </div>
  )
}

function Version() {
  const t = useWords("admin")
  const { data, error } = asked.useQuery("get", "/api/v1/version")
  return (
    <section className="card">
      <h2>Duly</h2>
      {error && <ProblemBox error={error} />}
      {data && (
        <dl className="facts">
          <dt>{t("about.version")}</dt>
          <dd>{data.version}</dd>
          <dt>{t("about.protocol")}</dt>
          <dd>{data.protocol}</dd>
          <dt>{t("about.tzdata")}</dt>
          <dd>{data.tzdata}</dd>
        </dl>
      )}
      <p>
        <a href="/api/v1/openapi.json">{t("about.api")}</a>
      </p>
      <p>
        <Link to="/account">{t("about.account")}</Link>
      </p>
    </section>
  )
}
