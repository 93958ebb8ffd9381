// Whether somebody can get in.

import type { Schemas } from "../../api/client"
import { Tag } from "../../parts/StateTag"
import { useWords } from "../../parts/words"

export function PersonState({ person }: { person: Schemas["PersonView"] }) {
  const t = useWords("admin")
  if (person.disabled_at) return <Tag tone="calm">{t("people.disabled")}</Tag>
  if (person.locked_until && Date.parse(person.locked_until) > Date.now()) {
    return (
      <Tag tone="bad" hint={t("people.locked_hint")}>
        {t("people.locked")}
      </Tag>
    )
  }
  if (person.must_change_password) return <Tag tone="warn">{t("people.must_change")}</Tag>
  return <Tag tone="good">{t("people.active")}</Tag>
}
