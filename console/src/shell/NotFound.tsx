// Nothing is at this address.
import { Link } from "@tanstack/react-router"
import { useTranslation } from "react-i18next"
import { Empty } from "../parts/Empty"

export function NotFound() {
  const { t } = useTranslation("shell")
  return (
    <Empty title={t("not_found")} hint={t("not_found_hint")}>
      <Link to="/">{t("to_home")}</Link>
    </Empty>
  )
}
