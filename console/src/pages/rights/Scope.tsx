// Where a right holds: everywhere or in a tenant, perhaps only in a folder or for labels.
import { useWords } from "../../parts/words"
import { labelsOut } from "../../parts/written"

type Props = { scope: { tenant: string | null; folder: string | null; labels: Record<string, string> } }

export function Scope({ scope }: Props) {
  const t = useWords("admin")
  const labels = labelsOut(scope.labels)
  return (
    <>
      {scope.tenant ? t("scope.tenant", { tenant: scope.tenant }) : t("scope.everywhere")}
      {scope.folder && ` · ${t("scope.folder", { folder: scope.folder })}`}
      {labels && ` · ${t("scope.labels", { labels })}`}
    </>
  )
}
