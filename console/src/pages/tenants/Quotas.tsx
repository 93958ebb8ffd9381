// The part of a tenant's form that says how much it may have.

import type { Schemas } from "../../api/client"
import { Field, Tick } from "../../parts/form/Field"
import { useWords } from "../../parts/words"
import { boundIn } from "../../parts/written"

const BOUNDS = ["jobs", "running", "per_second", "log_bytes_per_day", "history_days"] as const
export type Written = Record<(typeof BOUNDS)[number] | "weight", string> & { inside: boolean }

export function writtenQuotas(tenant: Schemas["TenantView"] | undefined): Written {
  const text = (name: (typeof BOUNDS)[number]) => tenant?.quotas[name]?.toString() ?? ""
  return {
    weight: String(tenant?.weight ?? 1),
    jobs: text("jobs"),
    running: text("running"),
    per_second: text("per_second"),
    log_bytes_per_day: text("log_bytes_per_day"),
    history_days: text("history_days"),
    inside: tenant?.private_network ?? false,
  }
}

export function readQuotas(written: Written) {
  const quotas = {
    jobs: boundIn(written.jobs),
    running: boundIn(written.running),
    per_second: boundIn(written.per_second),
    log_bytes_per_day: boundIn(written.log_bytes_per_day),
    history_days: boundIn(written.history_days),
  }
  return { quotas, weight: Number(written.weight), private_network: written.inside }
}

export function Fields({ value, change }: { value: Written; change: (written: Written) => void }) {
  const t = useWords("admin")
  return (
    <>
      <Field
        words={t("tenants.weight")}
        hint={t("tenants.weight_hint")}
        type="number"
        min={1}
        required
        value={value.weight}
        change={(weight) => change({ ...value, weight })}
      />
      {BOUNDS.map((name) => (
        <Field
          key={name}
          words={t(`tenants.${name}`)}
          hint={t(`tenants.${name}_hint`)}
          type="number"
          min={0}
          value={value[name]}
          change={(text) => change({ ...value, [name]: text })}
        />
      ))}
      <Tick
        words={t("tenants.inside")}
        hint={t("tenants.inside_hint")}
        value={value.inside}
        change={(inside) => change({ ...value, inside })}
      />
    </>
  )
}
