// Something is under way. Appears late, so that what is quick does not flicker.
import { useWords } from "../parts/words"

export function Loading() {
  const t = useWords("shell")
  return (
    <div className="loading" role="status">
      {t("loading")}
    </div>
  )
}
