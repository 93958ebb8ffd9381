// All jobs by name, with what comes next and what came last.
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import type { TFunction } from "i18next"
import { useMemo } from "react"
import { Empty } from "../../parts/Empty"
import { useFavourites } from "../../parts/favourites"
import { LateInput } from "../../parts/LateInput"
import { firstWords } from "../../parts/Markdown"
import { ModeTag } from "../../parts/ModeTag"
import { Moment } from "../../parts/Moment"
import { useMay } from "../../parts/may"
import { ProblemBox } from "../../parts/ProblemBox"
import { Pager, useFilters } from "../../parts/paged"
import { type Column, Rows } from "../../parts/Rows"
import { Tag } from "../../parts/StateTag"
import { To, toJob } from "../../parts/To"
import { useTitle } from "../../parts/title"
import { triggerWords } from "../../parts/trigger"
import { useWords } from "../../parts/words"
import { type JobFilters, jobsAsked, MODES } from "../../routes/designer"
import { Loading } from "../../shell/Loading"
import { FolderField, WayUp } from "./FolderField"
import { type Job, JobActions } from "./JobActions"
import { Star } from "./Star"
import { Strip } from "./Strip"

export function JobsPage() {
  const t = useWords("designer")
  const { filters, change } = useFilters<JobFilters>()
  const { name, folder, label, mode } = filters
  const asking = useQuery({ ...jobsAsked(filters), placeholderData: keepPreviousData })
  const { data, error } = asking
  const columns = useColumns()
  const may = useMay()
  useTitle(t("jobs.title"))
  return (
    <>
      <div className="head">
        <h1>{t("jobs.title")}</h1>
        <span className="grow" />
        {may("job.edit") && (
          <>
            <Link to="/import-jobs" className="as-button">
              {t("jobs.import")}
            </Link>
            <Link to="/new-job" className="as-button as-button-first">
              {t("jobs.new")}
            </Link>
          </>
        )}
      </div>
      <Favourites />
      <Filters filters={filters} change={change} />
      {folder && <WayUp folder={folder} />}
      {error && <ProblemBox error={error} again={() => void asking.refetch()} />}
      {asking.isPending && <Loading />}
      {data && data.items.length > 0 && (
        <Rows label={t("jobs.title")} columns={columns} rows={data.items} id={(job) => job.id} />
      )}
      {data && data.items.length === 0 && <None filtered={Boolean(name ?? folder ?? label ?? mode)} change={change} />}
      {data && <Pager shown={data.items.length} next={data.next} updating={asking.isPlaceholderData} />}
    </>
  )
}

function useColumns(): Column<Job>[] {
  const t = useWords("designer")
  return useMemo(() => columns(t), [t])
}

function columns(t: TFunction<"designer">): Column<Job>[] {
  return [
    {
      key: "name",
      title: t("jobs.column.name"),
      wide: "rest",
      show: (job) => (
        <span className="job-name">
          <Star job={job.name} />
          <span>
            <To to={toJob(job.name)}>{job.name}</To>
            <Tags job={job} />
            {job.description && <small className="soft job-about">{firstWords(job.description)}</small>}
          </span>
        </span>
      ),
    },
    {
      key: "mode",
      title: t("jobs.column.mode"),
      show: (job) =>
        job.held ? <Tag tone="bad">{t("jobs.held", { reason: job.held })}</Tag> : <ModeTag mode={job.mode} />,
    },
    { key: "trigger", title: t("jobs.column.trigger"), wide: "words", show: (job) => triggerWords(job.trigger, t) },
    { key: "next", title: t("jobs.column.next"), show: (job) => <Moment at={job.next_fire} /> },
    {
      key: "last",
      title: t("jobs.column.last"),
      show: (job) => (job.recent.length > 0 ? <Strip job={job} /> : "–"),
    },
    { key: "actions", title: t("jobs.column.actions"), show: (job) => <JobActions job={job} small /> },
  ]
}

function Tags({ job }: { job: Job }) {
  const labels = Object.entries(job.labels)
  if (!job.folder && !job.owner && labels.length === 0) return null
  return (
    <span className="tags">
      {job.folder && (
        <To to="/jobs" search={{ folder: job.folder }} className="tag tag-calm">
          {job.folder}/
        </To>
      )}
      {job.owner && <Owner owner={job.owner} />}
      {labels.map(([name, value]) => (
        <To key={name} to="/jobs" search={{ label: `${name}=${value}` }} className="tag tag-calm">
          {name}={value}
        </To>
      ))}
    </span>
  )
}

function Owner({ owner }: { owner: string }) {
  const t = useWords("designer")
  return (
    <span className="tag tag-calm" title={t("job.owner")}>
      <span className="unseen">{t("job.owner")}: </span>
      <span aria-hidden="true">☺</span> {owner}
    </span>
  )
}

function Favourites() {
  const t = useWords("designer")
  const { kept } = useFavourites()
  if (kept.length === 0) return null
  return (
    <p className="favourites">
      <span className="soft">★ {t("jobs.favourites")}</span>
      {kept.map((name) => (
        <Link key={name} to="/jobs/$name" params={{ name }}>
          {name}
        </Link>
      ))}
    </p>
  )
}

type Change = (changed: Partial<JobFilters>) => Promise<void>

function Filters({ filters, change }: { filters: JobFilters; change: Change }) {
  const t = useWords(["designer", "parts"])
  const chosen = (value: string) => MODES.find((mode) => mode === value)
  return (
    <search className="filters">
      <label>
        {t("designer:jobs.column.name")}
        <LateInput
          type="search"
          value={filters.name ?? ""}
          placeholder={t("designer:jobs.search")}
          change={(name) => void change({ name: name || undefined })}
        />
      </label>
      <FolderField folder={filters.folder} change={(folder) => void change({ folder: folder || undefined })} />
      <label>
        {t("designer:jobs.label")}
        <LateInput
          value={filters.label ?? ""}
          placeholder="team=billing"
          change={(label) => void change({ label: label || undefined })}
        />
      </label>
      <label>
        {t("designer:jobs.mode")}
        <select value={filters.mode ?? ""} onChange={(event) => void change({ mode: chosen(event.target.value) })}>
          <option value="">{t("designer:jobs.any_mode")}</option>
          {MODES.map((mode) => (
            <option key={mode} value={mode}>
              {t(`parts:mode.${mode}`)}
            </option>
          ))}
        </select>
      </label>
    </search>
  )
}

function None({ filtered, change }: { filtered: boolean; change: Change }) {
  const t = useWords(["designer", "parts"])
  if (!filtered) {
    return (
      <Empty title={t("designer:jobs.empty")} hint={t("designer:jobs.empty_hint")}>
        <Link to="/">{t("designer:jobs.to_home")}</Link> · <Link to="/new-job">{t("designer:jobs.new")}</Link>
      </Empty>
    )
  }
  const clear = () => void change({ name: undefined, folder: undefined, label: undefined, mode: undefined })
  return (
    <Empty title={t("parts:list.none")} hint={t("parts:list.none_hint")}>
      <button type="button" className="plain" onClick={clear}>
        {t("parts:list.clear")}
      </button>
    </Empty>
  )
}
