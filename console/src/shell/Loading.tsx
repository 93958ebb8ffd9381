// Something is under way. Appears late, so that what is quick does not flicker.
import { useTranslation } from "react-i18next"

export function Loading() {
  const { t } = useTranslation("shell")
  return (
    <div className="loading" role="status">
      {t("loading")}
    </div>
  )
}
