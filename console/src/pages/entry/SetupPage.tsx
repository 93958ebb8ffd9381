// The first minute: the one-time link leads here. Makes the first account, signs in with it, and shows the token for the
// command line once.
import { useState } from "react"
import { api } from "../../api/client"
import { Empty } from "../../parts/Empty"
import { Press } from "../../parts/Press"
import { ProblemBox } from "../../parts/ProblemBox"
import { useTitle } from "../../parts/title"
import { toSetUp } from "../../parts/told"
import { useWords } from "../../parts/words"
import { LanguageChoice, ZoneChoice } from "../../shell/Preferences"
import { Field } from "./Field"
import "./entry.css"

export function SetupPage() {
  const t = useWords("entry")
  const [token, setToken] = useState<string>()
  useTitle(t("setup.title"))
  const secret = location.hash.slice(1)
  return (
    <main className="door">
      <div className="card entry">
        {token !== undefined ? (
          <Done token={token} />
        ) : !toSetUp ? (
          <Empty title={t("setup.done")}>
            <a className="as-button as-button-first" href="/ui">
              {t("setup.to_home")}
            </a>
          </Empty>
        ) : secret === "" ? (
          <Empty title={t("setup.no_token")} hint={t("setup.no_token_hint")} />
        ) : (
          <Form secret={secret} done={setToken} />
        )}
      </div>
    </main>
  )
}

function Form({ secret, done }: { secret: string; done: (token: string) => void }) {
  const t = useWords("entry")
  const [admin, setAdmin] = useState("admin")
  const [password, setPassword] = useState("")
  const [again, setAgain] = useState("")
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const differ = again !== "" && again !== password
  const setUp = async (event: React.FormEvent) => {
    event.preventDefault()
    if (again !== password) return
    setBusy(true)
    const made = await api.POST("/api/v1/setup", { body: { admin, password, token: secret } })
    const opened = made.data && (await api.POST("/api/v1/sessions", { body: { name: made.data.user, password } }))
    setBusy(false)
    setProblem(made.error ?? opened?.error)
    if (made.data && opened?.data) done(made.data.token)
  }
  return (
    <>
      <h1>
        <img src="/ui/duly.svg" alt="" width="32" height="32" />
        {t("setup.title")}
      </h1>
      <p className="soft">{t("setup.intro")}</p>
      <form onSubmit={(event) => void setUp(event)}>
        <Field
          words={t("setup.name")}
          hint={t("setup.name_hint")}
          autoComplete="username"
          required
          maxLength={64}
          value={admin}
          onChange={(event) => setAdmin(event.target.value)}
        />
        <Field
          words={t("setup.password")}
          hint={t("setup.password_hint")}
          type="password"
          autoComplete="new-password"
          required
          minLength={10}
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <Field
          words={t("setup.repeat")}
          hint={differ ? t("setup.differ") : undefined}
          type="password"
          required
          autoComplete="new-password"
          aria-invalid={differ}
          value={again}
          onChange={(event) => setAgain(event.target.value)}
        />
        <div className="entry-beside">
          <LanguageChoice />
          <ZoneChoice />
        </div>
        <small className="hint">{t("setup.zone_hint")}</small>
        {problem !== undefined && <ProblemBox error={problem} />}
        <Press type="primary" submits busy={busy} disabled={differ}>
          {t("setup.go")}
        </Press>
      </form>
    </>
  )
}

function Done({ token }: { token: string }) {
  const t = useWords("entry")
  return (
    <>
      <h1>{t("setup.token_title")}</h1>
      <p className="soft">{t("setup.token_intro")}</p>
      <pre tabIndex={0}>{`export DULY_URL=${location.origin}\nexport DULY_TOKEN=${token}`}</pre>
      <p>
        {/* Loaded anew: the page was told that set-up is to be done. */}
        <a className="as-button as-button-first" href="/ui">
          {t("setup.on")}
        </a>
      </p>
    </>
  )
}
