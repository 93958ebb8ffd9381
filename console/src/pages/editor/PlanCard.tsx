// What saving would do, job by job and field by field, as the server plans it; or everything that is wrong, with its place.

import type { Schemas } from "../../api/client"
import { ProblemBox } from "../../parts/ProblemBox"
import { Tag } from "../../parts/StateTag"
import { useWords } from "../../parts/words"
import type { Check } from "./check"

type Item = Schemas["PlanItem"]

export function PlanCard({ check }: { check: Check }) {
  const t = useWords("editor")
  return (
    <section className="card plan" aria-labelledby="plan" aria-busy={check.checking}>
      <h2 id="plan">{t("plan.title")}</h2>
      {check.problem && <ProblemBox error={check.problem} />}
      {!check.problem && check.plan && <PlanItems items={check.plan.items} />}
      {!check.problem && !check.plan && (
        <p className="soft">{check.begun ? t("plan.checking") : t("plan.not_begun")}</p>
      )}
    </section>
  )
}

export function PlanItems({ items }: { items: Item[] }) {
  const t = useWords("editor")
  const tones = { create: "good", change: "busy", delete: "bad", same: "calm" } as const
  return (
    <ul className="plan-items">
      {items.map((item) => (
        <li key={item.job}>
          <Tag tone={tones[item.action]}>{t(`plan.${item.action}`)}</Tag> <strong>{item.job}</strong>
          <ul className="plan-fields">
            {item.fields?.map((field) => (
              <li key={field.path}>
                <code>{field.path}</code> {field.old !== undefined && <del>{said(field.old)}</del>}{" "}
                {field.new !== undefined && <ins>{said(field.new)}</ins>}
              </li>
            ))}
          </ul>
          {(item.followers?.length ?? 0) > 0 && (
            <p>{t("plan.followers", { jobs: item.followers?.join(", ") ?? "" })}</p>
          )}
        </li>
      ))}
    </ul>
  )
}

function said(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value)
}
