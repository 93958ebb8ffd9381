// The menu: sections of pages, without those that somebody may not see.
import { Link, useLocation, useRouter } from "@tanstack/react-router"
import { useMay } from "../parts/may"
import { useWords } from "../parts/words"
import { SECTIONS } from "./menu"

export function Menu({ onGo }: { onGo: () => void }) {
  const t = useWords("shell")
  const may = useMay()
  const path = useLocation({ select: (at) => at.pathname })
  const router = useRouter()
  /** The tabs beside a page are one click further; the router itself loads what the link leads to. */
  const reach = (tabs: string[] = []) => {
    for (const to of tabs) void router.preloadRoute({ to } as never).catch(() => undefined)
  }
  return (
    <nav className="menu" id="menu" aria-label={t("menu")}>
      {SECTIONS.map(([section, items]) => {
        const shown = items.filter((item) => !item.needs || item.needs.some((permission) => may(permission)))
        if (shown.length === 0) return null
        return (
          <section key={section} aria-labelledby={`menu-${section}`}>
            <h2 id={`menu-${section}`}>{t(`sections.${section}`)}</h2>
            <ul>
              {shown.map((item) => (
                <li key={item.words}>
                  <Link
                    to={item.to}
                    onClick={onGo}
                    onPointerEnter={() => reach(item.also)}
                    className={item.also?.some((other) => path.startsWith(other)) ? "active" : undefined}
                    activeOptions={{ exact: item.to === "/", includeSearch: false }}
                  >
                    {t(`pages.${item.words}`)}
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        )
      })}
    </nav>
  )
}
