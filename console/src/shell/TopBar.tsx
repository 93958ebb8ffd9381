// The bar above every page: where one is, whether what is shown is live, what one prefers, who one is.
import { Link } from "@tanstack/react-router"
import { api } from "../api/client"
import type { Live } from "../api/stream"
import { useWhoami } from "../parts/may"
import { talk } from "../parts/talk"
import { useWords } from "../parts/words"
import { Drop } from "./Drop"
import { FindButton } from "./FindButton"
import { Preferences } from "./Preferences"
import { TenantChoice } from "./TenantChoice"

export function TopBar({ live, menuOpen, onMenu }: { live: Live; menuOpen: boolean; onMenu: () => void }) {
  const t = useWords("shell")
  return (
    <header className="topbar">
      <button
        type="button"
        className="plain menu-button"
        aria-expanded={menuOpen}
        aria-controls="menu"
        onClick={onMenu}
      >
        <span aria-hidden="true">☰</span>
        <span className="unseen">{t("menu")}</span>
      </button>
      <Link to="/" className="brand">
        <img src="/ui/duly.svg" alt="" width="24" height="24" />
        <span className="brand-name">Duly</span>
      </Link>
      <span className={`live live-${live}`} role="status" title={t(`live_hint.${live}`)}>
        <span className="live-dot" aria-hidden="true" />
        <span className="live-words">{t(`live.${live}`)}</span>
      </span>
      <span className="grow" />
      <FindButton />
      <TenantChoice />
      <Drop label={t("preferences")} mark="⚙">
        <Preferences />
      </Drop>
      <Account />
    </header>
  )
}

function Account() {
  const t = useWords("shell")
  const { data } = useWhoami()
  const signOut = async () => {
    const { error } = await api.DELETE("/api/v1/sessions")
    if (error) return talk.problem(error)
    // Everything that was answered was answered to them: it goes with the page.
    location.assign("/ui")
  }
  return (
    <Drop label={t("account")} mark={data?.name ?? "…"}>
      <p className="soft">{t("signed_in_as", { name: data?.name })}</p>
      <p>
        <Link to="/account">{t("pages.account")}</Link>
      </p>
      <button type="button" className="plain" onClick={() => void signOut()}>
        {t("sign_out")}
      </button>
    </Drop>
  )
}
