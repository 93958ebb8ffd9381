// Picks permissions, each explained in a sentence. One that lets somebody act on something without seeing it says so.
import { useId } from "react"
import { useWords } from "../../parts/words"
import { KINDS, type Kind, keyOf } from "./every"
import "./people.css"

type Props = { words: string; hint?: string; value: string[]; change: (picked: string[]) => void }

export function Picker({ words, hint, value, change }: Props) {
  const t = useWords("admin")
  const id = useId()
  const toggle = (permission: string) =>
    change(value.includes(permission) ? value.filter((one) => one !== permission) : [...value, permission])
  return (
    <fieldset className="picker">
      <legend>{words}</legend>
      {hint && <small className="soft">{hint}</small>}
      {(Object.keys(KINDS) as Kind[]).map((kind) => (
        <div key={kind} className="picker-kind">
          {KINDS[kind].map((action) => {
            const permission = `${kind}.${action}`
            const key = keyOf(permission)
            return (
              <span key={permission} className="picker-one">
                <input
                  id={`${id}${permission}`}
                  type="checkbox"
                  checked={value.includes(permission)}
                  onChange={() => toggle(permission)}
                />
                <label htmlFor={`${id}${permission}`}>
                  <code>{permission}</code> <span className="soft">{key && t(`permission.${key}`)}</span>
                </label>
              </span>
            )
          })}
        </div>
      ))}
    </fieldset>
  )
}
