// Shows what pages say beside themselves: what was done, for a moment; problems, until somebody shuts them; pop-ups; questions.
import { useRouter } from "@tanstack/react-router"
import { useEffect, useRef, useState } from "react"
import { Press } from "../parts/Press"
import { ProblemBox, useProblemWords } from "../parts/ProblemBox"
import { listen, type Said, talk } from "../parts/talk"
import { useWords } from "../parts/words"
import { Asked } from "./Asked"
import "./talker.css"

type Shown = { key: string; said: Exclude<Said, { kind: "ask" }> }
type Question = Extract<Said, { kind: "ask" }>

/** Long enough to read it; with a way back, also to look and to reach for the button. */
const DONE_MS = 4_000
const UNDO_MS = 10_000
const POPUP_MS = 12_000

let count = 0

export function Talker() {
  const [shown, setShown] = useState<Shown[]>([])
  const [questions, setQuestions] = useState<Question[]>([])
  useEffect(
    () =>
      listen((said) => {
        if (said.kind === "ask") return setQuestions((before) => [...before, said])
        count += 1
        const key = said.kind === "popup" ? said.popup.key : `said ${count}`
        setShown((before) => [...before.filter((one) => one.key !== key), { key, said }])
      }),
    [],
  )
  const shut = (key: string) => setShown((before) => before.filter((one) => one.key !== key))
  const done = shown.filter((one) => one.said.kind === "done")
  const others = shown.filter((one) => one.said.kind !== "done")
  const question = questions[0]
  return (
    <>
      <div className="said said-done" role="status">
        {done.map((one) => (
          <Note key={one.key} shown={one} shut={() => shut(one.key)} />
        ))}
      </div>
      <div className="said said-beside" aria-live="polite">
        {others.map((one) => (
          <Note key={one.key} shown={one} shut={() => shut(one.key)} />
        ))}
      </div>
      {question && <Asked question={question} close={() => setQuestions((before) => before.slice(1))} />}
    </>
  )
}

type NoteProps = { shown: Shown; shut: () => void }

function Note({ shown: { said }, shut }: NoteProps) {
  const t = useWords("parts")
  const router = useRouter()
  const stay = useShutAfter(lasts(said), shut)
  if (said.kind === "done") {
    const { undo } = said
    const back = () => {
      shut()
      undo?.().then(() => talk.done(t("undo.done")), talk.problem)
    }
    return (
      <div className="note note-good" {...stay}>
        <span aria-hidden="true">✓</span> {said.text}{" "}
        {undo && (
          <Press size="small" onClick={back}>
            {t("undo.undo")}
          </Press>
        )}
      </div>
    )
  }
  if (said.kind === "problem") {
    return (
      <div className="note note-bad" {...stay}>
        <Head title={<ProblemTitle problem={said.problem} />} shut={shut} />
        <ProblemBox error={said.problem} untitled />
      </div>
    )
  }
  const { title, text, link } = said.popup
  const go = () => {
    shut()
    router.history.push(link?.to ?? "/ui")
  }
  return (
    <div className="note note-warn" {...stay}>
      <Head title={title} shut={shut} />
      {text && <p>{text}</p>}
      {link && (
        <Press size="small" onClick={go}>
          {link.words}
        </Press>
      )}
    </div>
  )
}

function Head({ title, shut }: { title: React.ReactNode; shut: () => void }) {
  const t = useWords("parts")
  return (
    <div className="note-head">
      <strong>{title}</strong>
      <button type="button" className="note-shut" aria-label={t("form.shut")} onClick={shut}>
        ✕
      </button>
    </div>
  )
}

function ProblemTitle({ problem }: { problem: Extract<Said, { kind: "problem" }>["problem"] }) {
  return useProblemWords(problem).title
}

function lasts(said: Shown["said"]): number | undefined {
  if (said.kind === "done") return said.undo ? UNDO_MS : DONE_MS
  return said.kind === "popup" ? POPUP_MS : undefined
}

/** It goes by itself, but not while somebody points at it or is in it. */
function useShutAfter(ms: number | undefined, shut: () => void) {
  const last = useRef(shut)
  last.current = shut
  const timer = useRef<number>(undefined)
  const stay = () => clearTimeout(timer.current)
  const go = () => {
    stay()
    if (ms !== undefined) timer.current = window.setTimeout(() => last.current(), ms)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: it begins when it is shown, once.
  useEffect(() => {
    go()
    return stay
  }, [])
  return { onPointerEnter: stay, onPointerLeave: go, onFocus: stay, onBlur: go }
}
