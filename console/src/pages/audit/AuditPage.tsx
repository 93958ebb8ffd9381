// Every change and every refused attempt, newest first; filtered by who, what, about what, since when and how it ended.
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useMemo } from "react"
import type { Schemas } from "../../api/client"
import { Empty } from "../../parts/Empty"
import { LateInput } from "../../parts/LateInput"
import { Moment } from "../../parts/Moment"
import { ProblemBox } from "../../parts/ProblemBox"
import { Pager, useFilters } from "../../parts/paged"
import { browserZone, usePrefs } from "../../parts/prefs"
import { type Column, Rows } from "../../parts/Rows"
import { SLOWLY } from "../../parts/slowly"
import { To } from "../../parts/To"
import { fromLocal, toLocal } from "../../parts/time"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { type AuditFilters, auditAsked } from "../../routes/audit"
import { Loading } from "../../shell/Loading"
import { About, Outcome } from "./Outcome"
import { Export, Verify } from "./Verify"

type Entry = Schemas["AuditView"]

const NO_FILTERS: AuditFilters = {
  who: undefined,
  operation: undefined,
  about: undefined,
  since: undefined,
  outcome: undefined,
}

export function AuditPage() {
  const t = useWords("admin")
  const { filters, change } = useFilters<AuditFilters>()
  const { who, operation, about, since, outcome } = filters
  const asking = useQuery({ ...auditAsked(filters), ...SLOWLY, placeholderData: keepPreviousData })
  const { data, error } = asking
  const filtered = Boolean(who ?? operation ?? about ?? since ?? outcome)
  const columns = useColumns()
  useTitle(t("audit.title"))
  return (
    <>
      <div className="head">
        <h1>{t("audit.title")}</h1>
        <span className="grow" />
        <Verify />
        <Export />
      </div>
      <Filters filters={filters} change={change} />
      {error && <ProblemBox error={error} again={() => void asking.refetch()} />}
      {asking.isPending && <Loading />}
      {data && data.items.length > 0 && (
        <Rows label={t("audit.title")} columns={columns} rows={data.items} id={(entry) => entry.seq} />
      )}
      {data?.items.length === 0 && <None filtered={filtered} clear={() => void change(NO_FILTERS)} />}
      {data && <Pager shown={data.items.length} next={data.next} updating={asking.isPlaceholderData} />}
    </>
  )
}

function useColumns(): Column<Entry>[] {
  const t = useWords("admin")
  return useMemo(
    () => [
      {
        key: "seq",
        title: t("audit.number"),
        show: ({ seq }) => (
          <To to={`/audit/${seq}`} className="number">
            {seq}
          </To>
        ),
      },
      { key: "at", title: t("audit.at"), show: ({ entry }) => <Moment at={entry.at} /> },
      { key: "who", title: t("audit.who"), show: ({ entry }) => entry.who ?? entry.by ?? "–" },
      { key: "operation", title: t("audit.operation"), show: ({ entry }) => <code>{entry.operation}</code> },
      { key: "about", title: t("audit.about"), wide: "rest", show: ({ entry }) => <About entry={entry} /> },
      { key: "outcome", title: t("audit.outcome"), show: ({ entry }) => <Outcome outcome={entry.outcome} /> },
    ],
    [t],
  )
}

type FilterProps = { filters: AuditFilters; change: (changed: Partial<AuditFilters>) => Promise<void> }

function Filters({ filters, change }: FilterProps) {
  const t = useWords("admin")
  const zone = usePrefs().zone ?? browserZone()
  const word = (name: "who" | "operation" | "about", example: string) => (
    <label>
      {t(`audit.${name}`)}
      <LateInput
        value={filters[name] ?? ""}
        placeholder={example}
        change={(text) => void change({ [name]: text || undefined })}
      />
    </label>
  )
  return (
    <search className="filters">
      {word("who", "ada")}
      {word("operation", "job_apply")}
      {word("about", "nightly")}
      <label>
        {t("audit.since")}
        <input
          type="datetime-local"
          step={1}
          value={toLocal(filters.since, zone)}
          onChange={(event) => void change({ since: fromLocal(event.target.value, zone) })}
        />
      </label>
      <label>
        {t("audit.outcome")}
        <select
          value={filters.outcome ?? ""}
          onChange={(event) => void change({ outcome: event.target.value || undefined })}
        >
          <option value="">{t("audit.any")}</option>
          <option value="done">{t("audit.done")}</option>
          <option value="refused">{t("audit.refused")}</option>
          <option value="unknown">{t("audit.unknown")}</option>
        </select>
      </label>
    </search>
  )
}

function None({ filtered, clear }: { filtered: boolean; clear: () => void }) {
  const t = useWords(["admin", "parts"])
  if (!filtered) return <Empty title={t("admin:audit.empty")} />
  return (
    <Empty title={t("parts:list.none")} hint={t("parts:list.none_hint")}>
      <button type="button" className="plain" onClick={clear}>
        {t("parts:list.clear")}
      </button>
    </Empty>
  )
}
