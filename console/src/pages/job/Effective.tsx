// What the variables are that this job can name, and which level each comes from: the nearest counts.

import { asked, type Schemas } from "../../api/client"
import { ProblemBox } from "../../parts/ProblemBox"
import { Tag } from "../../parts/StateTag"
import { useWords } from "../../parts/words"

type Variable = Schemas["EffectiveView"]

export function Effective({ name }: { name: string }) {
  const t = useWords("designer")
  const { data, error } = asked.useQuery("get", "/api/v1/jobs/{name}/variables", { params: { path: { name } } })
  const used = data?.items.filter((one) => one.used) ?? []
  const unused = data?.items.filter((one) => !one.used) ?? []
  if (!error && data?.items.length === 0) return null
  return (
    <section className="card">
      <h2>{t("job.variables")}</h2>
      {error && <ProblemBox error={error} />}
      {used.length > 0 && <Values of={used} />}
      {data && used.length === 0 && <p className="soft">{t("job.variables_none")}</p>}
      {unused.length > 0 && (
        <details className="unused">
          <summary>{t("job.variables_more", { count: unused.length })}</summary>
          <Values of={unused} />
        </details>
      )}
    </section>
  )
}

function Values({ of }: { of: Variable[] }) {
  const t = useWords(["designer", "admin"])
  const from = (one: Variable) =>
    one.folder ? t("admin:variables.in_folder", { folder: one.folder }) : t(`admin:variables.levels.${one.level}`)
  return (
    <dl className="facts">
      {of.map((one) => (
        <Value key={one.name} one={one} from={from(one)} />
      ))}
    </dl>
  )
}

function Value({ one, from }: { one: Variable; from: string }) {
  const t = useWords("designer")
  return (
    <>
      <dt>
        <code>{one.name}</code>
      </dt>
      <dd>
        {one.value} <small className="soft">{t("job.variable_of", { from })}</small>{" "}
        {one.hides > 0 && <Tag tone="calm">{t("job.variable_hides", { count: one.hides })}</Tag>}
      </dd>
    </>
  )
}
