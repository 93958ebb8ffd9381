// What the agent's own machine lets tasks do. Kept there: nobody changes it from here.

import type { Schemas } from "../../api/client"
import { Tag } from "../../parts/StateTag"
import { useWords } from "../../parts/words"

export function Policy({ policy }: { policy: Schemas["AgentPolicy"] | null | undefined }) {
  const t = useWords("admin")
  if (!policy) {
    return (
      <section className="card">
        <h2>{t("policy.title")}</h2>
        <p className="soft">{t("policy.unknown")}</p>
      </section>
    )
  }
  const list = (names: string[] | undefined, otherwise: string) =>
    names && names.length > 0 ? names.join(", ") : otherwise
  return (
    <section className="card">
      <h2>{t("policy.title")}</h2>
      <p className="soft">{policy.file ? t("policy.file", { file: policy.file }) : t("policy.none")}</p>
      {policy.as_root && (
        <p>
          <Tag tone="warn">{t("policy.root")}</Tag>
        </p>
      )}
      <dl className="facts">
        <dt>{t("policy.tasks")}</dt>
        <dd>{list(policy.tasks, t("policy.any"))}</dd>
        <dt>{t("policy.run_as")}</dt>
        <dd>{policy.run_as ?? t("policy.own_user")}</dd>
        <dt>{t("policy.users")}</dt>
        <dd>{list(policy.users, t("policy.nobody"))}</dd>
        <dt>{t("policy.directories")}</dt>
        <dd>{list(policy.directories ?? undefined, t("policy.anywhere"))}</dd>
        <dt>{t("policy.programs")}</dt>
        <dd>{list(policy.programs ?? undefined, t("policy.anywhere"))}</dd>
        <dt>{t("policy.network")}</dt>
        <dd>{policy.private_networks ? t("policy.network_yes") : t("policy.network_no")}</dd>
      </dl>
    </section>
  )
}
