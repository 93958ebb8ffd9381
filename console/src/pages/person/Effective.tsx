// What a person may do, and why: each permission with the grant, the role and the place it comes from.
import type { TFunction } from "i18next"
import { useMemo } from "react"
import { asked, type Schemas } from "../../api/client"
import { useWhoami } from "../../parts/may"
import { ProblemBox } from "../../parts/ProblemBox"
import { useFilters } from "../../parts/paged"
import { type Column, Rows } from "../../parts/Rows"
import { Tag } from "../../parts/StateTag"
import { SLOWLY } from "../../parts/slowly"
import { useTenant } from "../../parts/tenant"
import { useWords } from "../../parts/words"
import type { PersonSearch } from "../../routes/people"
import { keyOf, PERMISSIONS } from "../people/every"
import { Scope } from "../rights/Scope"
import { explain, type Reason } from "./explain"

export function Effective({ person }: { person: Schemas["PersonView"] }) {
  const t = useWords("admin")
  const { filters, change } = useFilters<PersonSearch>()
  const grants = asked.useQuery("get", "/api/v1/grants", undefined, SLOWLY)
  const roles = asked.useQuery("get", "/api/v1/roles", undefined, SLOWLY)
  const here = useTenant()
  const own = useWhoami().data?.tenant
  const error = grants.error ?? roles.error
  if (error) return <ProblemBox error={error} />
  if (!grants.data || !roles.data) return null
  const all = explain(person, grants.data.items, roles.data.items)
  const asks = filters.may
  const said = (permission: string) => {
    const key = keyOf(permission)
    return key ? `${permission}: ${t(`permission.${key}`)}` : permission
  }
  return (
    <section className="card" aria-labelledby="rights">
      <h2 id="rights">{t("rights.title")}</h2>
      <p className="soft">
        {t("rights.intro")} {t("rights.only_here", { tenant: here ?? own })}
      </p>
      <search className="filters">
        <label>
          {t("rights.ask")}
          <select
            value={asks ?? ""}
            title={asks ? said(asks) : t("rights.all")}
            onChange={(event) => void change({ may: event.target.value || undefined })}
          >
            <option value="">{t("rights.all")}</option>
            {PERMISSIONS.map((permission) => (
              <option key={permission} value={permission}>
                {said(permission)}
              </option>
            ))}
          </select>
        </label>
      </search>
      {asks ? <Answer reasons={all.filter((one) => one.permission === asks)} asks={asks} /> : <All reasons={all} />}
    </section>
  )
}

function Answer({ reasons, asks }: { reasons: Reason[]; asks: string }) {
  const t = useWords("admin")
  const counting = reasons.filter((reason) => reason.counts === "yes")
  const short = reasons.filter((reason) => reason.counts !== "yes")
  return (
    <div role="status" className="stack">
      <p>
        <Tag tone={counting.length > 0 ? "good" : "bad"}>{counting.length > 0 ? t("rights.yes") : t("rights.no")}</Tag>
      </p>
      {counting.length > 0 && <Reasons reasons={counting} />}
      {reasons.length === 0 && <p>{t("rights.no_text", { permission: asks })}</p>}
      {short.map(({ grant, permission, counts }) => (
        <p key={grant.id} className="soft">
          {counts === "only_installation"
            ? t("rights.not_there", { role: grant.role, permission, tenant: grant.tenant })
            : t("rights.not_placed", { role: grant.role, permission })}
        </p>
      ))}
    </div>
  )
}

function All({ reasons }: { reasons: Reason[] }) {
  const t = useWords("admin")
  const counting = reasons.filter((reason) => reason.counts === "yes")
  if (counting.length === 0) return <p>{t("rights.none")}</p>
  return <Reasons reasons={counting} />
}

function Reasons({ reasons }: { reasons: Reason[] }) {
  const t = useWords("admin")
  const columns = useMemo<Column<Reason>[]>(
    () => [
      {
        key: "permission",
        title: t("rights.permission"),
        wide: "rest",
        show: ({ permission }) => {
          const key = keyOf(permission)
          return (
            <span>
              <code>{permission}</code> {key && <span className="soft">{t(`permission.${key}`)}</span>}
            </span>
          )
        },
      },
      {
        key: "because",
        title: t("rights.because"),
        show: ({ grant }) => (
          <span>
            {because(grant, t)} <span className="soft">{t("rights.by", { who: grant.created_by })}</span>
          </span>
        ),
      },
      { key: "where", title: t("rights.where"), show: ({ grant }) => <Scope scope={grant} /> },
    ],
    [t],
  )
  const id = (reason: Reason) => `${reason.permission}${reason.grant.id}`
  return <Rows label={t("rights.title")} columns={columns} rows={reasons} id={id} />
}

function because(grant: Schemas["GrantView"], t: TFunction<"admin">): string {
  if (grant.from_provider) return t("rights.from_provider", { role: grant.role })
  if (grant.group !== null) return t("rights.through", { role: grant.role, group: grant.group })
  return t("rights.direct", { role: grant.role })
}
