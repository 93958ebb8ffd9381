// Where a job runs: its pool, what agents must carry, and how one of them is chosen.

import { asked } from "../../api/client"
import { Choice, Field } from "../../parts/form/Field"
import { useWords } from "../../parts/words"
import { type Body, longOf } from "./draft"
import { Labels, Section, type SectionProps, word } from "./Section"

const ROUTES = [
  "least_loaded",
  "round",
  "random",
  "first",
  "last",
  "consistent_hash",
  "least_frequently_used",
  "least_recently_used",
  "failover",
  "busy_over",
  "broadcast",
  "fixed",
] as const

export function WhereSection({ body, set, faults }: SectionProps) {
  const t = useWords("editor")
  const { data } = asked.useQuery("get", "/api/v1/pools")
  const pool = longOf(body, "pool")
  const fixed = typeof pool.route === "object" && pool.route !== null ? (pool.route as Body).fixed : undefined
  const route = fixed !== undefined ? "fixed" : (ROUTES.find((one) => one === pool.route) ?? "least_loaded")
  const choose = (v: (typeof ROUTES)[number]) => {
    if (v === "fixed") set(["pool", "route"], { fixed: "" })
    else set(["pool", "route"], v === "least_loaded" ? undefined : v)
  }
  return (
    <Section title={t("where.title")} keys={["pool"]} faults={faults}>
      <Field
        words={t("where.pool")}
        hint={t("where.pool_hint")}
        value={word(pool.name)}
        placeholder="default"
        choices={data?.items.map((one) => one.name) ?? []}
        change={(v) => set(["pool", "name"], v)}
      />
      <Choice
        words={t("where.route")}
        hint={t(`where.route_hint.${route}`)}
        value={route}
        options={ROUTES.map((one) => [one, t(`where.routes.${one}`)] as const)}
        change={choose}
      />
      {route === "fixed" && (
        <Field words={t("where.agent")} value={word(fixed)} change={(v) => set(["pool", "route"], { fixed: v })} />
      )}
      <Labels
        words={t("where.labels")}
        hint={t("where.labels_hint")}
        value={pool.labels}
        change={(v) => set(["pool", "labels"], v)}
      />
    </Section>
  )
}
