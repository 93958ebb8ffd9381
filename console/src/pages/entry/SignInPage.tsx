// Signing in, at whatever address somebody came to.
import { useState } from "react"
import { api } from "../../api/client"
import { Press } from "../../parts/Press"
import { ProblemBox } from "../../parts/ProblemBox"
import { useTitle } from "../../parts/title"
import { hasProvider } from "../../parts/told"
import { useWords } from "../../parts/words"
import { LanguageChoice } from "../../shell/Preferences"
import { Field } from "./Field"
import "./entry.css"

export function SignInPage({ onIn }: { onIn: () => void }) {
  const t = useWords("entry")
  const [name, setName] = useState("")
  const [password, setPassword] = useState("")
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  useTitle(t("sign_in.title"))
  const signIn = async (event: React.FormEvent) => {
    event.preventDefault()
    setBusy(true)
    const { error } = await api.POST("/api/v1/sessions", { body: { name, password } })
    setBusy(false)
    setProblem(error)
    if (!error) onIn()
  }
  return (
    <div className="card entry">
      <h1>
        <img src="/ui/duly.svg" alt="" width="32" height="32" />
        {t("sign_in.welcome")}
      </h1>
      <form onSubmit={(event) => void signIn(event)}>
        <Field
          words={t("sign_in.name")}
          name="name"
          autoComplete="username"
          required
          autoFocus
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <Field
          words={t("sign_in.password")}
          name="password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        {problem !== undefined && <ProblemBox error={problem} />}
        <Press type="primary" submits busy={busy}>
          {t("sign_in.go")}
        </Press>
        {hasProvider && <Provider />}
      </form>
      <div className="entry-beside">
        <LanguageChoice />
      </div>
    </div>
  )
}

function Provider() {
  const t = useWords("entry")
  const back = encodeURIComponent(location.pathname + location.search)
  return (
    <>
      <p className="entry-or soft">{t("sign_in.or")}</p>
      <a className="as-button" href={`/auth/oidc/start?back=${back}`}>
        {t("sign_in.provider")}
      </a>
    </>
  )
}
