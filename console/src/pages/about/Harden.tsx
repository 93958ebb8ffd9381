// How safely the installation is set up: what was found, how much it weighs, what to do about it.

import { asked, type Schemas } from "../../api/client"
import { ProblemBox, ticked } from "../../parts/ProblemBox"
import { type Column, Rows } from "../../parts/Rows"
import { Tag } from "../../parts/StateTag"
import { SLOWLY } from "../../parts/slowly"
import { useWords } from "../../parts/words"
import { useProblems } from "../../words/problems"

type Finding = Schemas["HardenFinding"]

const TONES = { serious: "bad", middling: "warn", slight: "calm" } as const
const ORDER = ["serious", "middling", "slight"]

export function Harden() {
  const t = useWords("admin")
  const { data, error } = asked.useQuery("get", "/api/v1/harden", undefined, SLOWLY)
  const problems = useProblems()
  const columns: Column<Finding>[] = [
    {
      key: "weight",
      title: t("harden.weight"),
      show: (one) => <Tag tone={TONES[one.weight]}>{t(`harden.weights.${one.weight}`)}</Tag>,
    },
    {
      key: "what",
      title: t("harden.what"),
      wide: "rest",
      show: (one) => (
        <span>
          {problems?.findings[one.id]?.what ?? one.what} <span className="soft">({one.seen})</span>
        </span>
      ),
    },
    {
      key: "fix",
      title: t("harden.fix"),
      wide: "rest",
      show: (one) => <span>{ticked(problems?.findings[one.id]?.fix ?? one.fix)}</span>,
    },
  ]
  const found = problems && data ? data.findings : []
  const rows = [...found].sort((a, b) => ORDER.indexOf(a.weight) - ORDER.indexOf(b.weight))
  return (
    <section aria-labelledby="harden" id="harden-findings">
      <h2 id="harden">{t("harden.title")}</h2>
      {error && <ProblemBox error={error} />}
      {data && <p className="soft">{t("harden.score", { score: data.score, checks: data.checks })}</p>}
      {rows.length > 0 && <Rows label={t("harden.title")} columns={columns} rows={rows} id={(one) => one.id} />}
      {data?.findings.length === 0 && <p>{t("harden.none")}</p>}
    </section>
  )
}
