// A page of ours failed: says so, and leaves the rest usable.
import { type ErrorComponentProps, useRouter } from "@tanstack/react-router"
import { ProblemBox } from "../parts/ProblemBox"
import { useWords } from "../parts/words"

export function Broken({ error, reset }: ErrorComponentProps) {
  const t = useWords("shell")
  const router = useRouter()
  const again = () => {
    reset()
    void router.invalidate()
  }
  return (
    <main className="door">
      <h1>{t("broken")}</h1>
      <ProblemBox error={error} again={again} />
    </main>
  )
}
