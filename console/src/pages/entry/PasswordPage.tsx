// Somebody else knows the password: another one comes first.
import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { api } from "../../api/client"
import { Press } from "../../parts/Press"
import { ProblemBox } from "../../parts/ProblemBox"
import { useTitle } from "../../parts/title"
import { useWords } from "../../parts/words"
import { Field } from "./Field"
import "./entry.css"

export function PasswordPage() {
  const t = useWords("entry")
  const queries = useQueryClient()
  const [old, setOld] = useState("")
  const [fresh, setFresh] = useState("")
  const [problem, setProblem] = useState<unknown>()
  useTitle(t("password.title"))
  const set = async (event: React.FormEvent) => {
    event.preventDefault()
    const { error } = await api.PUT("/api/v1/whoami/password", { body: { old, new: fresh } })
    setProblem(error)
    if (!error) await queries.resetQueries()
  }
  return (
    <div className="card entry">
      <h1>{t("password.title")}</h1>
      <p className="soft">{t("password.intro")}</p>
      <form onSubmit={(event) => void set(event)}>
        <Field
          words={t("password.old")}
          type="password"
          autoComplete="current-password"
          required
          value={old}
          onChange={(event) => setOld(event.target.value)}
        />
        <Field
          words={t("password.fresh")}
          hint={t("setup.password_hint")}
          type="password"
          autoComplete="new-password"
          required
          minLength={10}
          value={fresh}
          onChange={(event) => setFresh(event.target.value)}
        />
        {problem !== undefined && <ProblemBox error={problem} />}
        <Press type="primary" submits>
          {t("password.go")}
        </Press>
      </form>
    </div>
  )
}
