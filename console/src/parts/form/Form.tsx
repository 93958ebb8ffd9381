// A form that does one thing on the server. What is refused is told inside it, so that nothing typed is lost; what is done is
// told beside the page, and everything shown is asked for anew.
import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Press } from "../Press"
import { ProblemBox } from "../ProblemBox"
import { talk, type Undoable } from "../talk"
import "./form.css"

type Props = {
  submit: string
  /** Answers what to tell when it is done, if anything; throws a problem. */
  act: () => Promise<string | Undoable | undefined>
  /** After it is done. */
  then?: () => void
  danger?: boolean
  disabled?: boolean
  children: React.ReactNode
}

export function Form({ submit, act, then, danger, disabled, children }: Props) {
  const queries = useQueryClient()
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const send = async (event: React.FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setProblem(undefined)
    try {
      const told = await act()
      if (told) talk.done(told)
      void queries.invalidateQueries()
      then?.()
    } catch (error) {
      setProblem(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form className="form" onSubmit={(event) => void send(event)}>
      {children}
      {problem !== undefined && <ProblemBox error={problem} />}
      <div>
        <Press type="primary" submits danger={danger ?? false} busy={busy} disabled={disabled ?? false}>
          {submit}
        </Press>
      </div>
    </form>
  )
}
