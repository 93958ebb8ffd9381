// A button that does something on the server: explains when one may not, asks first where it should, shows that it is under
// way, and tells what came of it, with a way back where there is one.
import { useState } from "react"
import { type Place, useWhyNot } from "./may"
import { Press, type PressProps } from "./Press"
import { type Question, talk, type Undoable } from "./talk"

type Props = Omit<PressProps, "onClick" | "busy" | "whyNot"> & {
  /** Whoever is signed in may, if absent. */
  needs?: string
  place?: Place
  /** Only where there is no way back. */
  ask?: Question
  /** Answers what to tell when it is done, if anything; throws a problem. */
  act: () => Promise<string | Undoable | undefined>
}

export function Act({ needs, place, ask, act, ...button }: Props) {
  const [busy, setBusy] = useState(false)
  const why = useWhyNot()
  const whyNot = needs === undefined ? undefined : why(needs, place)
  const press = async () => {
    if (ask && !(await talk.ask(ask))) return
    setBusy(true)
    try {
      const told = await act()
      if (told) talk.done(told)
    } catch (error) {
      talk.problem(error)
    } finally {
      setBusy(false)
    }
  }
  return <Press {...button} busy={busy} whyNot={whyNot} onClick={() => void press()} />
}

/** What an operation answered, or its problem thrown. */
export async function done<Data>(asked: Promise<{ data?: Data; error?: unknown }>): Promise<Data> {
  const { data, error } = await asked
  if (error !== undefined) throw error
  return data as Data
}
