// Lets through whoever is signed in, at whatever address; shows everybody else what to do first, and leaves the address
// as it is.
import { useQueryClient } from "@tanstack/react-query"
import { lazy, Suspense, useEffect, useState } from "react"
import { onSignedOut } from "../api/client"
import { asProblem, SETUP_NEEDED } from "../api/problem"
import { Empty } from "../parts/Empty"
import { Rights, useWhoami } from "../parts/may"
import { ProblemBox } from "../parts/ProblemBox"
import { isStranger, toSetUp } from "../parts/told"
import { useWords } from "../parts/words"
import { Loading } from "./Loading"
import { WHOAMI } from "./memory"

const SignInPage = lazy(() => import("../pages/entry/SignInPage").then((page) => ({ default: page.SignInPage })))
const PasswordPage = lazy(() => import("../pages/entry/PasswordPage").then((page) => ({ default: page.PasswordPage })))

/** Asking who one is would be refused, so it is not asked. */
let stranger = isStranger

export function Gate({ children }: { children: React.ReactNode }) {
  const [unknown, setUnknown] = useState(stranger)
  const come = () => {
    stranger = false
    setUnknown(false)
  }
  if (!unknown) return <Known>{children}</Known>
  return <Door>{toSetUp ? <SetupNeeded /> : <SignInPage onIn={come} />}</Door>
}

function Known({ children }: { children: React.ReactNode }) {
  const whoami = useWhoami()
  const queries = useQueryClient()
  useEffect(() => onSignedOut(() => void queries.resetQueries({ queryKey: WHOAMI })), [queries])
  if (whoami.data?.must_change_password) return <Door>{<PasswordPage />}</Door>
  if (whoami.data) return <Rights>{children}</Rights>
  if (whoami.isPending) return <Loading />
  const problem = asProblem(whoami.error)
  if (problem.code === SETUP_NEEDED || (toSetUp && problem.status === 503)) {
    return <Door>{<SetupNeeded />}</Door>
  }
  if (problem.status === 401) return <Door>{<SignInPage onIn={() => void queries.resetQueries()} />}</Door>
  return <Door>{<ProblemBox error={problem} again={() => void whoami.refetch()} />}</Door>
}

function SetupNeeded() {
  const t = useWords("entry")
  return <Empty title={t("needed.title")} hint={t("needed.hint")} />
}

function Door({ children }: { children: React.ReactNode }) {
  return (
    <main className="door">
      <Suspense fallback={<Loading />}>{children}</Suspense>
    </main>
  )
}
