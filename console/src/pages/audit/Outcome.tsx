// How something in the audit ended, and what it was about.

import type { Schemas } from "../../api/client"
import { Tag } from "../../parts/StateTag"
import { useWords } from "../../parts/words"

export function Outcome({ outcome }: { outcome: string }) {
  const t = useWords("admin")
  if (outcome === "done") return <Tag tone="good">{t("audit.done")}</Tag>
  if (outcome === "unknown") {
    return (
      <Tag tone="warn" hint={t("audit.unknown_hint")}>
        {t("audit.unknown")}
      </Tag>
    )
  }
  return <Tag tone="bad">{t("audit.refused_as", { code: outcome })}</Tag>
}

export function About({ entry }: { entry: Schemas["AuditEntry"] }) {
  const t = useWords("admin")
  const about = Object.values(entry.about ?? {}).join(", ")
  return (
    <span>
      {about || "–"} {entry.reason && <small className="soft">{t("audit.because", { reason: entry.reason })}</small>}
    </span>
  )
}
