// Makes or changes a job: by a form that explains itself or as a file, whichever; both are the same text. What saving would do
// stands beside it all the time.
import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { asked } from "../../api/client"
import { Act } from "../../parts/Act"
import { ProblemBox } from "../../parts/ProblemBox"
import { useTitle } from "../../parts/title"
import { useUnsaved } from "../../parts/unsaved"
import { useWords } from "../../parts/words"
import { Loading } from "../../shell/Loading"
import { apply, useCheck } from "./check"
import { bodyOf, hasBegun, put } from "./draft"
import { JobForm } from "./JobForm"
import { PlanCard } from "./PlanCard"
import { YamlView } from "./YamlView"
import "./editor.css"

const FIRST = 'job: ""\nmanual: true\nsh: |\n  echo "hello"\n'

export function NewJobPage() {
  const t = useWords("editor")
  const { copy } = useSearch({ from: "/new-job" })
  const asking = useExport(copy)
  useTitle(t("new"))
  if (copy && asking.error) return <ProblemBox error={asking.error} />
  if (copy && asking.data === undefined) return <Loading />
  const first = copy ? put(String(asking.data), ["job"], `${copy}-copy`) : FIRST
  return <Editor title={t("new")} first={first} />
}

export function EditJobPage() {
  const t = useWords("editor")
  const { name } = useParams({ from: "/jobs/$name/edit" })
  const asking = useExport(name)
  useTitle(t("edit", { name }))
  if (asking.error) return <ProblemBox error={asking.error} again={() => void asking.refetch()} />
  if (asking.data === undefined) return <Loading />
  return <Editor key={name} title={t("edit", { name })} name={name} first={String(asking.data)} />
}

/** The job as a file. */
export function useExport(name: string | undefined) {
  return asked.useQuery(
    "get",
    "/api/v1/jobs/{name}/export",
    { params: { path: { name: name ?? "" } }, parseAs: "text" },
    { enabled: name !== undefined },
  )
}

function Editor({ title, name, first }: { title: string; name?: string; first: string }) {
  const t = useWords("editor")
  const { view } = useSearch({ strict: false }) as { view?: "yaml" }
  // What somebody writes stays, also when the job is changed elsewhere meanwhile: that is told, not mixed in.
  const [begun] = useState(first)
  const [text, change] = useState(first)
  const body = bodyOf(text)
  const check = useCheck(text, "job.yaml", hasBegun)
  const saved = useUnsaved(text !== begun)
  const asFile = view === "yaml" || body === undefined
  return (
    <div className="stack">
      <div className="head">
        <h1>{title}</h1>
        <span className="grow" />
        <Save text={text} check={check} saved={saved} />
      </div>
      {begun !== first && <p role="status">{t("changed_elsewhere")}</p>}
      <nav className="tabs" aria-label={t("views")}>
        <View to={undefined} shown={!asFile}>
          {t("form")}
        </View>
        <View to="yaml" shown={asFile}>
          YAML
        </View>
      </nav>
      <div className="editor">
        {asFile ? (
          <YamlView text={text} change={change} problem={check.problem} />
        ) : (
          <JobForm text={text} body={body} change={change} problem={check.problem} fixedName={name !== undefined} />
        )}
        <PlanCard check={check} />
      </div>
    </div>
  )
}

function View({ to, shown, children }: { to: "yaml" | undefined; shown: boolean; children: React.ReactNode }) {
  return (
    <Link
      to="."
      search={(before) => ({ ...before, view: to }) as never}
      replace
      activeProps={{ className: "" }}
      className={shown ? "active" : undefined}
      aria-current={shown ? "page" : "false"}
    >
      {children}
    </Link>
  )
}

function Save({ text, check, saved }: { text: string; check: ReturnType<typeof useCheck>; saved: () => void }) {
  const t = useWords("editor")
  const navigate = useNavigate()
  const queries = useQueryClient()
  const item = check.plan?.items[0]
  const ready = !check.checking && !check.problem && check.plan?.items.some((one) => one.action !== "same")
  const save = async () => {
    const { items } = await apply(text, "job.yaml", false)
    saved()
    await queries.invalidateQueries()
    await navigate({ to: "/jobs/$name", params: { name: items[0]?.job ?? "" } })
    return t("saved", { job: items[0]?.job ?? "" })
  }
  return (
    <Act type="primary" needs="job.edit" act={save} disabled={!ready}>
      {item?.action === "same" ? t("nothing_to_save") : t("save")}
    </Act>
  )
}
