// What the job was, newest first.
import { Link } from "@tanstack/react-router"
import { asked } from "../../api/client"
import { Moment } from "../../parts/Moment"
import { ProblemBox } from "../../parts/ProblemBox"
import { Tag } from "../../parts/StateTag"
import { useWords } from "../../parts/words"

const SHOWN = 8

export function Versions({ name }: { name: string }) {
  const t = useWords("designer")
  const { data, error } = asked.useQuery("get", "/api/v1/jobs/{name}/versions", { params: { path: { name } } })
  return (
    <section className="card">
      <h2>{t("job.versions")}</h2>
      {error && <ProblemBox error={error} />}
      <ol className="next">
        {data?.items.slice(0, SHOWN).map((one) => (
          <li key={one.version}>
            <Link to="/jobs/$name/versions" params={{ name }} search={{ version: one.version }}>
              {t("job.version", { version: one.version })}
            </Link>{" "}
            <Moment at={one.created_at} /> <span className="soft">{t("job.by", { who: one.created_by })}</span>{" "}
            {one.current && <Tag tone="busy">{t("job.current")}</Tag>}
          </li>
        ))}
      </ol>
    </section>
  )
}
