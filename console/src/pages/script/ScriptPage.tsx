// The script of a job (what XXL-JOB calls GLUE): write it, try it without touching the job, save it, compare it with what it was,
// go back.
import { useQueryClient } from "@tanstack/react-query"
import { Link, useParams } from "@tanstack/react-router"
import type { TFunction } from "i18next"
import { useState } from "react"
import { api, asked } from "../../api/client"
import { Act, done } from "../../parts/Act"
import { CodeField, Comparison } from "../../parts/code/lazy"
import { Empty } from "../../parts/Empty"
import { LogView } from "../../parts/log/LogView"
import { Moment } from "../../parts/Moment"
import { ProblemBox } from "../../parts/ProblemBox"
import { StateTag } from "../../parts/StateTag"
import { talk } from "../../parts/talk"
import { useTitle } from "../../parts/title"
import { useUnsaved } from "../../parts/unsaved"
import { useWords } from "../../parts/words"
import { Loading } from "../../shell/Loading"
import { type Body, longOf, withSource } from "../editor/draft"
import { type Script, scriptOf, scriptVersions, trialOf } from "./script"
import { takeAway } from "./trial"
import "../editor/editor.css"

export function ScriptPage() {
  const t = useWords("editor")
  const { name } = useParams({ from: "/jobs/$name/script" })
  const asking = asked.useQuery("get", "/api/v1/jobs/{name}", { params: { path: { name } } })
  useTitle(t("script.title", { name }))
  if (asking.error) return <ProblemBox error={asking.error} again={() => void asking.refetch()} />
  if (!asking.data?.body) return <Loading />
  const body = asking.data.body as unknown as Body
  const kind = scriptOf(body)
  if (!kind) {
    return (
      <Empty title={t("script.none")} hint={t("script.none_hint")}>
        <Link to="/jobs/$name/edit" params={{ name }}>
          {t("edit", { name })}
        </Link>
      </Empty>
    )
  }
  return <Editor key={name} name={name} body={body} kind={kind} />
}

function Editor({ name, body, kind }: { name: string; body: Body; kind: Script }) {
  const t = useWords("editor")
  const queries = useQueryClient()
  const saved = sourceOf(body, kind)
  // What stood there when this was begun: if the job has another script by now, somebody else wrote it.
  const [begun, setBegun] = useState(saved)
  const [source, setSource] = useState(saved)
  const [trial, setTrial] = useState<number>()
  useUnsaved(source !== begun)
  const isElsewhere = saved !== begun && saved !== source
  const take = (text: string) => {
    setBegun(text)
    setSource(text)
  }
  // Nothing is lost by showing it to somebody who has written nothing.
  if (saved !== begun && source === begun) take(saved)
  const save = async () => {
    // As it is now, not as it was told: it may have been changed a moment ago.
    const now = (await done(api.GET("/api/v1/jobs/{name}", { params: { path: { name } } }))).body as unknown as Body
    const theirs = sourceOf(now, kind)
    if (theirs !== begun && theirs !== source && !(await talk.ask(overwriting(t)))) {
      await queries.invalidateQueries()
      return undefined
    }
    await done(api.POST("/api/v1/jobs/apply", { body: { jobs: [withSource(now, kind, source) as never] } }))
    setBegun(source)
    await queries.invalidateQueries()
    return t("saved", { job: name })
  }
  const tryIt = async () => {
    const job = trialOf(withSource(body, kind, source), name, t("script.trial_of", { name }))
    await done(api.POST("/api/v1/jobs/apply", { body: { jobs: [job as never] } }))
    const path = { name: String(job.job) }
    const made = await done(api.POST("/api/v1/jobs/{name}/trigger", { params: { path }, body: {} }))
    setTrial(made.id)
    void takeAway(path.name, made.id).then(() => queries.invalidateQueries())
    return undefined
  }
  return (
    <div className="stack">
      <div className="head">
        <h1>
          <Link to="/jobs/$name" params={{ name }}>
            {name}
          </Link>{" "}
          <span className="soft">{t(`task.of.${kind}`)}</span>
        </h1>
        <span className="grow" />
        <Act needs="job.edit" act={tryIt}>
          {t("script.try")}
        </Act>
        <Act type="primary" needs="job.edit" act={save} disabled={source === saved}>
          {source === saved ? t("nothing_to_save") : t("save")}
        </Act>
      </div>
      {isElsewhere && (
        <div role="status" className="card elsewhere">
          <p>{t("script.elsewhere")}</p>
          <button type="button" className="plain" onClick={() => take(saved)}>
            {t("script.take_theirs")}
          </button>
          <Comparison label={t("script.elsewhere")} language={kind} before={saved} after={source} />
        </div>
      )}
      <CodeField label={t("task.source")} language={kind} value={source} change={setSource} />
      <p className="soft">{t("script.try_hint", { job: `${name}.try` })}</p>
      {trial !== undefined && <Trial id={trial} />}
      <Older name={name} kind={kind} source={source} take={setSource} />
    </div>
  )
}

function sourceOf(body: Body, kind: Script): string {
  return String(longOf(body, kind).source ?? "")
}

function overwriting(t: TFunction<"editor">) {
  return {
    title: t("script.overwrite_ask"),
    text: t("script.overwrite_hint"),
    yes: t("script.overwrite"),
    danger: true,
  }
}

function Trial({ id }: { id: number }) {
  const t = useWords("editor")
  const { data } = asked.useQuery("get", "/api/v1/instances/{id}", { params: { path: { id } } })
  return (
    <section className="card" aria-labelledby="trial">
      <h2 id="trial">
        {t("script.trial")}{" "}
        <Link to="/instances/$id" params={{ id }}>
          {id}
        </Link>{" "}
        {data && <StateTag state={data.state} />}
      </h2>
      <LogView key={id} instance={id} attempt={data?.attempt} />
    </section>
  )
}

type OlderProps = { name: string; kind: Script; source: string; take: (source: string) => void }

function Older({ name, kind, source, take }: OlderProps) {
  const t = useWords(["editor", "designer"])
  const { data } = asked.useQuery("get", "/api/v1/jobs/{name}/versions", { params: { path: { name } } })
  const [chosen, choose] = useState<number>()
  const all = scriptVersions(data?.items ?? [], kind)
  const other = all.find((one) => one.version === chosen)
  return (
    <section className="card" aria-labelledby="older">
      <h2 id="older">{t("editor:script.versions")}</h2>
      <ol className="version-list">
        {all.map((one) => (
          <li key={one.version}>
            <button type="button" className="plain" aria-pressed={one === other} onClick={() => choose(one.version)}>
              {t("designer:job.version", { version: one.version })}
            </button>{" "}
            <Moment at={one.at} /> <span className="soft">{t("designer:job.by", { who: one.by })}</span>
          </li>
        ))}
      </ol>
      {other && (
        <>
          <div className="head">
            <h3>{t("editor:script.differs", { version: other.version })}</h3>
            <button
              type="button"
              className="plain"
              disabled={other.source === source}
              onClick={() => take(other.source)}
            >
              {t("editor:script.take", { version: other.version })}
            </button>
          </div>
          {other.source === source ? (
            <p className="soft">{t("editor:versions.same")}</p>
          ) : (
            <Comparison label={t("editor:versions.compare")} language={kind} before={other.source} after={source} />
          )}
        </>
      )}
    </section>
  )
}
