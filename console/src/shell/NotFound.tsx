// Nothing is at this address.
import { Link } from "@tanstack/react-router"
import { Empty } from "../parts/Empty"
import { useWords } from "../parts/words"

export function NotFound() {
  const t = useWords("shell")
  return (
    <Empty title={t("not_found")} hint={t("not_found_hint")}>
      <Link to="/">{t("to_home")}</Link>
    </Empty>
  )
}
