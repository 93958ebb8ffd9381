// A question before something that cannot be undone. The browser's own dialog: it keeps the focus inside, and Escape is a no.
import { useEffect, useId, useRef } from "react"
import { Press } from "../parts/Press"
import type { Said } from "../parts/talk"
import { useWords } from "../parts/words"

type Props = { question: Extract<Said, { kind: "ask" }>; close: () => void }

export function Asked({ question: { question, answer }, close }: Props) {
  const t = useWords("parts")
  const own = useRef<HTMLDialogElement>(null)
  const yes = useRef(false)
  const id = useId()
  useEffect(() => {
    if (own.current && !own.current.open) own.current.showModal()
  }, [])
  const end = () => {
    answer(yes.current)
    close()
  }
  const choose = (chosen: boolean) => {
    yes.current = chosen
    own.current?.close()
  }
  return (
    <dialog ref={own} className="asked" aria-labelledby={id} aria-describedby={`${id}text`} onClose={end}>
      <h2 id={id}>{question.title}</h2>
      {question.text && <p id={`${id}text`}>{question.text}</p>}
      <div className="asked-answers">
        {/* First in order, so that it has the focus: nothing is lost by pressing Enter too early. */}
        <Press onClick={() => choose(false)}>{t("confirm.no")}</Press>
        <Press type="primary" danger={question.danger ?? false} onClick={() => choose(true)}>
          {question.yes}
        </Press>
      </div>
    </dialog>
  )
}
