// One field of the forms at the door: a label, an input, perhaps a hint.
import { useId } from "react"

type Props = React.InputHTMLAttributes<HTMLInputElement> & { words: string; hint?: string }

export function Field({ words, hint, ...input }: Props) {
  const id = useId()
  return (
    <div>
      <label htmlFor={id}>{words}</label>
      <input id={id} aria-describedby={hint ? `${id}hint` : undefined} {...input} />
      {hint && (
        <small id={`${id}hint`} className="hint">
          {hint}
        </small>
      )}
    </div>
  )
}
