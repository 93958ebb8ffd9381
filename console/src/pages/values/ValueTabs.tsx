// Values that jobs share: those everybody may read, and those nobody is shown again.

import { Tabs } from "../../parts/Tabs"
import { useWords } from "../../parts/words"

export function ValueTabs() {
  const t = useWords("admin")
  const tabs = [
    { to: "/variables", words: t("variables.title"), needs: "variable.see" },
    { to: "/secrets", words: t("secrets.title"), needs: "secret.see" },
  ] as const
  return <Tabs label={t("variables.title")} tabs={[...tabs]} />
}
