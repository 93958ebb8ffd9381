// A sheet over the page, for a form or something that is shown once. The browser's own dialog: it keeps the focus inside and
// shuts by Escape. Says nothing by itself.
import { useEffect, useId, useRef } from "react"
import { useWords } from "../words"
import "./form.css"

const FIELD = "input:enabled, textarea:enabled, select:enabled"

type Props = { title: string; close: () => void; children: React.ReactNode }

export function Sheet({ title, close, children }: Props) {
  const t = useWords("parts")
  const own = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = own.current
    if (!dialog || dialog.open) return
    dialog.showModal()
    // It goes to the first thing inside, which is the way out; whoever opens a sheet wants to fill it in.
    dialog.querySelector<HTMLElement>(FIELD)?.focus()
  }, [])
  return (
    <dialog ref={own} className="sheet" aria-labelledby={id} onClose={close}>
      <div className="head">
        <h2 id={id}>{title}</h2>
        <span className="grow" />
        <button type="button" className="plain" aria-label={t("form.shut")} onClick={() => own.current?.close()}>
          ✕
        </button>
      </div>
      {children}
    </dialog>
  )
}
