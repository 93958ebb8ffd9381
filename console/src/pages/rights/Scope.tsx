// Where a right holds: everywhere or in a tenant, perhaps only in a folder or for labels.
import { useTranslation } from "react-i18next"
import { labelsOut } from "../../parts/written"

type Props = { scope: { tenant: string | null; folder: string | null; labels: Record<string, string> } }

export function Scope({ scope }: Props) {
  const { t } = useTranslation("admin")
  const labels = labelsOut(scope.labels)
  return (
    <>
      {scope.tenant ? t("scope.tenant", { tenant: scope.tenant }) : t("scope.everywhere")}
      {scope.folder && ` · ${t("scope.folder", { folder: scope.folder })}`}
      {labels && ` · ${t("scope.labels", { labels })}`}
    </>
  )
}
