// People and the groups they are in; roles and who has them.

import { Tabs } from "../../parts/Tabs"
import { useWords } from "../../parts/words"

export function PeopleTabs() {
  const t = useWords("admin")
  const tabs = [
    { to: "/people", words: t("people.title"), needs: "person.see" },
    { to: "/groups", words: t("groups.title"), needs: "person.see" },
    { to: "/grants", words: t("grants.title"), needs: "member.see" },
    { to: "/roles", words: t("roles.title") },
  ] as const
  return <Tabs label={t("people.title")} tabs={[...tabs]} />
}
