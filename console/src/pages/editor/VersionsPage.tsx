// What a job was: any two versions beside each other, and back to an old one.
import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router"
import { api, asked, type Schemas } from "../../api/client"
import { Act, done } from "../../parts/Act"
import { Comparison } from "../../parts/code/lazy"
import { Moment } from "../../parts/Moment"
import { ProblemBox } from "../../parts/ProblemBox"
import { Tag } from "../../parts/StateTag"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { Loading } from "../../shell/Loading"
import { textOf } from "./draft"
import "./editor.css"

type Version = Schemas["JobVersionView"]

export function VersionsPage() {
  const t = useWords("editor")
  const { name } = useParams({ from: "/jobs/$name/versions" })
  const { version, against } = useSearch({ from: "/jobs/$name/versions" })
  const asking = asked.useQuery("get", "/api/v1/jobs/{name}/versions", { params: { path: { name } } })
  useTitle(t("versions.title", { name }))
  if (asking.error) return <ProblemBox error={asking.error} again={() => void asking.refetch()} />
  if (!asking.data) return <Loading />
  const all = asking.data.items
  const now = all.find((one) => one.current) ?? all[0]
  const chosen = all.find((one) => one.version === version) ?? now
  const other = all.find((one) => one.version === against) ?? before(all, chosen)
  return (
    <div className="stack">
      <div className="head">
        <h1>
          <Link to="/jobs/$name" params={{ name }}>
            {name}
          </Link>{" "}
          <span className="soft">{t("versions.list")}</span>
        </h1>
        <span className="grow" />
        {chosen && !chosen.current && <Restore version={chosen} />}
      </div>
      <div className="versions">
        <Choices all={all} chosen={chosen} />
        <section className="card" aria-labelledby="differs">
          <Against all={all} other={other} />
          {chosen && other && (
            <>
              <h2 id="differs">{t("versions.differs", { before: other.version, after: chosen.version })}</h2>
              {same(other, chosen) ? (
                <p className="soft">{t("versions.same")}</p>
              ) : (
                <Comparison
                  label={t("versions.compare")}
                  language="yaml"
                  before={textOf(other.body)}
                  after={textOf(chosen.body)}
                />
              )}
            </>
          )}
        </section>
      </div>
    </div>
  )
}

const same = (a: Version, b: Version) => JSON.stringify(a.body) === JSON.stringify(b.body)

function before(all: Version[], chosen: Version | undefined): Version | undefined {
  return all.find((one) => one.version < (chosen?.version ?? 0)) ?? chosen
}

function Choices({ all, chosen }: { all: Version[]; chosen: Version | undefined }) {
  const t = useWords("designer")
  return (
    <ol className="card version-list">
      {all.map((one) => (
        <li key={one.version}>
          <Link
            to="."
            search={(was) => ({ ...was, version: one.version }) as never}
            aria-current={one === chosen ? "true" : undefined}
          >
            {t("job.version", { version: one.version })}
          </Link>{" "}
          {one.current && <Tag tone="busy">{t("job.current")}</Tag>}
          <br />
          <small className="soft">
            <Moment at={one.created_at} /> {t("job.by", { who: one.created_by })}
          </small>
        </li>
      ))}
    </ol>
  )
}

function Against({ all, other }: { all: Version[]; other: Version | undefined }) {
  const t = useWords(["editor", "designer"])
  const navigate = useNavigate()
  const go = (against: number) =>
    navigate({ to: ".", search: ((was: object) => ({ ...was, against })) as never, replace: true })
  return (
    <label className="against">
      {t("editor:versions.with")}{" "}
      <select value={other?.version ?? ""} onChange={(event) => void go(Number(event.target.value))}>
        {all.map((one) => (
          <option key={one.version} value={one.version}>
            {t("designer:job.version", { version: one.version })}
          </option>
        ))}
      </select>
    </label>
  )
}

function Restore({ version }: { version: Version }) {
  const t = useWords("editor")
  const queries = useQueryClient()
  const act = async () => {
    await done(api.POST("/api/v1/jobs/apply", { body: { jobs: [version.body] } }))
    await queries.invalidateQueries()
    return t("versions.restored", { version: version.version })
  }
  const ask = {
    title: t("versions.restore_ask", { version: version.version }),
    text: t("versions.restore_hint"),
    yes: t("versions.restore", { version: version.version }),
  }
  return (
    <Act type="primary" needs="job.edit" ask={ask} act={act}>
      {t("versions.restore", { version: version.version })}
    </Act>
  )
}
