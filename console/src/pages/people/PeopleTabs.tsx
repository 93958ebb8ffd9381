// People and the groups they are in; roles and who has them.
import { useTranslation } from "react-i18next"
import { Tabs } from "../../parts/Tabs"

export function PeopleTabs() {
  const { t } = useTranslation("admin")
  const tabs = [
    { to: "/people", words: t("people.title"), needs: "person.see" },
    { to: "/groups", words: t("groups.title"), needs: "person.see" },
    { to: "/grants", words: t("grants.title"), needs: "member.see" },
    { to: "/roles", words: t("roles.title") },
  ] as const
  return <Tabs label={t("people.title")} tabs={[...tabs]} />
}
