// One job: what it is, why it does what it does, when it runs next, what it was, and what came of it.
import { Link, useParams } from "@tanstack/react-router"
import { asked } from "../../api/client"
import { Empty } from "../../parts/Empty"
import { Markdown } from "../../parts/Markdown"
import { ModeTag } from "../../parts/ModeTag"
import { Moment } from "../../parts/Moment"
import { useMay } from "../../parts/may"
import { ProblemBox } from "../../parts/ProblemBox"
import { Tag } from "../../parts/StateTag"
import { useTitle } from "../../parts/title"
import { triggerWords } from "../../parts/trigger"
import { Why } from "../../parts/Why"
import { useWords } from "../../parts/words"
import { Loading } from "../../shell/Loading"
import { InstanceRows } from "../instances/InstanceRows"
import { type Job, JobActions } from "../jobs/JobActions"
import { RunWith } from "../jobs/RunWith"
import { Star } from "../jobs/Star"
import { Definition } from "./Definition"
import { EditLinks } from "./EditLinks"
import { Effective } from "./Effective"
import { Held } from "./Held"
import { NextTimes } from "./NextTimes"
import { Versions } from "./Versions"

export function JobPage() {
  const t = useWords("designer")
  const { name } = useParams({ from: "/jobs/$name" })
  const may = useMay()
  const asking = asked.useQuery("get", "/api/v1/jobs/{name}", { params: { path: { name } } })
  const { data, error } = asking
  useTitle(name)
  if (error) return <ProblemBox error={error} again={() => void asking.refetch()} />
  if (!data) return <Loading />
  return (
    <div className="stack">
      <div className="head">
        <h1>{name}</h1>
        <Star job={name} />
        {data.held ? <Tag tone="bad">{t("job.held")}</Tag> : <ModeTag mode={data.mode} />}
        <span className="grow" />
        <JobActions job={data} />
        <RunWith job={data} />
        <EditLinks job={data} />
      </div>
      {data.held && <Held job={data} />}
      {data.description && <Markdown text={data.description} />}
      <div className="columns">
        <Facts job={data} />
        <JobWhy name={name} />
        <NextTimes name={name} />
        <Versions name={name} />
        {may("variable.see") && <Effective name={name} />}
      </div>
      {may("instance.see") && <Latest name={name} />}
      <Definition name={name} />
    </div>
  )
}

function Facts({ job }: { job: Job }) {
  const t = useWords("designer")
  const labels = Object.entries(job.labels)
  return (
    <section className="card">
      <h2>{t("job.facts")}</h2>
      <dl className="facts">
        <dt>{t("job.trigger")}</dt>
        <dd>{triggerWords(job.trigger, t)}</dd>
        <dt>{t("job.mode")}</dt>
        <dd>
          <ModeTag mode={job.mode} /> {t("job.since")} <Moment at={job.since} />
        </dd>
        {job.folder && <dt>{t("job.folder")}</dt>}
        {job.folder && (
          <dd>
            <Link to="/jobs" search={{ folder: job.folder }}>
              {job.folder}
            </Link>
          </dd>
        )}
        {job.owner && <dt>{t("job.owner")}</dt>}
        {job.owner && <dd>{job.owner}</dd>}
        {labels.length > 0 && <dt>{t("job.labels")}</dt>}
        {labels.length > 0 && <dd>{labels.map(([key, value]) => `${key}=${value}`).join(", ")}</dd>}
        {job.xxl_job_id != null && <dt>{t("job.xxl")}</dt>}
        {job.xxl_job_id != null && <dd>{job.xxl_job_id}</dd>}
      </dl>
    </section>
  )
}

function JobWhy({ name }: { name: string }) {
  const t = useWords("designer")
  const { data, error } = asked.useQuery("get", "/api/v1/jobs/{name}/why", { params: { path: { name } } })
  return <Why title={t("job.why")} why={data} error={error} />
}

function Latest({ name }: { name: string }) {
  const t = useWords("designer")
  const query = { job: name, limit: 10 }
  const { data, error } = asked.useQuery("get", "/api/v1/instances", { params: { query } })
  return (
    <section aria-labelledby="latest">
      <h2 id="latest">{t("job.instances")}</h2>
      {error && <ProblemBox error={error} />}
      {data && data.items.length === 0 && <Empty title={t("job.no_instances")} hint={t("job.no_instances_hint")} />}
      {data && data.items.length > 0 && (
        <>
          <InstanceRows rows={data.items} label={t("job.instances")} without={["job"]} />
          <p>
            <Link to="/instances" search={{ job: name }}>
              {t("job.all_instances")}
            </Link>
          </p>
        </>
      )}
    </section>
  )
}
