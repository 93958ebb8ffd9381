// Finds anything by a few letters: pages, whatever has a name, an instance by its number. Opens by Ctrl-K, is used by keyboard.
import { useNavigate, useRouter } from "@tanstack/react-router"
import { useId, useState } from "react"
import { Sheet } from "../parts/form/Sheet"
import { useWords } from "../parts/words"
import { type Found, useFound } from "./found"

export default function Finder({ close }: { close: () => void }) {
  const t = useWords("shell")
  const navigate = useNavigate()
  const router = useRouter()
  const id = useId()
  const [text, setText] = useState("")
  const [at, setAt] = useState(0)
  const found = useFound(text.trim().toLowerCase())
  const go = (one: Found | undefined) => {
    if (!one) return
    close()
    const { tenant } = router.state.location.search as { tenant?: string }
    void navigate({ to: one.to, search: (tenant ? { tenant } : {}) as never })
  }
  const press = (event: React.KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      setAt((now) => Math.min(Math.max(0, now + step), found.length - 1))
    }
    if (event.key === "Enter") go(found[at])
  }
  return (
    <Sheet title={t("find.title")} close={close}>
      <input
        type="search"
        className="finder-input"
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={found[at] ? `${id}${at}` : undefined}
        aria-label={t("find.title")}
        placeholder={t("find.placeholder")}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setAt(0)
        }}
        onKeyDown={press}
      />
      <div id={id} role="listbox" aria-label={t("find.results")} className="finder">
        {found.map((one, index) => (
          <div
            key={one.key}
            id={`${id}${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => go(one)}
            onKeyDown={(event) => event.key === "Enter" && go(one)}
          >
            <span className="soft">{t(`find.${one.kind}`)}</span> {one.words}{" "}
            {one.more && <small className="soft">{one.more}</small>}
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="soft">{t("find.none")}</p>}
    </Sheet>
  )
}
