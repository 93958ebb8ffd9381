// Values that jobs share: those everybody may read, and those nobody is shown again.
import { useTranslation } from "react-i18next"
import { Tabs } from "../../parts/Tabs"

export function ValueTabs() {
  const { t } = useTranslation("admin")
  const tabs = [
    { to: "/variables", words: t("variables.title"), needs: "variable.see" },
    { to: "/secrets", words: t("secrets.title"), needs: "secret.see" },
  ] as const
  return <Tabs label={t("variables.title")} tabs={[...tabs]} />
}
