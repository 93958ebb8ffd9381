// Whether every planned time became what it should: computed anew and compared with the ledger, when somebody asks.
import { useState } from "react"
import { api, type Schemas } from "../../api/client"
import { Act, done } from "../../parts/Act"
import { Tag } from "../../parts/StateTag"
import { useWords } from "../../parts/words"

type Result = Schemas["VerifyView"]

export function Ledger() {
  const t = useWords("admin")
  const [result, setResult] = useState<Result>()
  const check = async () => {
    setResult(await done(api.GET("/api/v1/verify")))
    return undefined
  }
  return (
    <section className="card">
      <h2>{t("ledger.title")}</h2>
      <p className="soft">{t("ledger.hint")}</p>
      <Act needs="job.see" act={check}>
        {t("ledger.check")}
      </Act>
      {result && (
        <div role="status">
          <p>
            <Tag tone={result.ok ? "good" : "bad"}>{result.ok ? t("ledger.ok") : t("ledger.bad")}</Tag>{" "}
            {t("ledger.counts", { times: result.times, jobs: result.jobs, fired: result.fired })}
          </p>
          <ul>
            {result.findings.map((one) => (
              <li key={`${one.kind}${one.job}${one.planned_at}${one.message}`}>{one.message}</li>
            ))}
          </ul>
        </div>
      )}
    </section>
  )
}
