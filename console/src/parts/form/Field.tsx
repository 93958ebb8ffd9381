// The fields of forms: a label, what is filled in, and perhaps a sentence that explains it.
import { useId } from "react"

type Words = { words: string; hint?: string | undefined }

export function Field({
  words,
  hint,
  value,
  change,
  choices,
  ...input
}: Words &
  Omit<React.InputHTMLAttributes<HTMLInputElement>, "value" | "onChange"> & {
    value: string
    change: (text: string) => void
    /** Known values, offered while typing. */
    choices?: string[]
  }) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{words}</label>
      <input
        id={id}
        {...input}
        value={value}
        list={choices ? `${id}list` : undefined}
        aria-describedby={hint ? `${id}hint` : undefined}
        onChange={(event) => change(event.target.value)}
      />
      {choices && (
        <datalist id={`${id}list`}>
          {choices.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
      <Hint id={id} hint={hint} />
    </div>
  )
}

export function Area({
  words,
  hint,
  value,
  change,
  ...area
}: Words &
  Omit<React.TextareaHTMLAttributes<HTMLTextAreaElement>, "value" | "onChange"> & {
    value: string
    change: (text: string) => void
  }) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{words}</label>
      <textarea
        id={id}
        rows={4}
        {...area}
        value={value}
        aria-describedby={hint ? `${id}hint` : undefined}
        onChange={(event) => change(event.target.value)}
      />
      <Hint id={id} hint={hint} />
    </div>
  )
}

export function Choice<Value extends string>({
  words,
  hint,
  value,
  change,
  options,
}: Words & { value: Value; change: (value: Value) => void; options: readonly (readonly [Value, string])[] }) {
  const id = useId()
  const chosen = (text: string) => options.find(([one]) => one === text)?.[0]
  return (
    <div className="field">
      <label htmlFor={id}>{words}</label>
      <select
        id={id}
        value={value}
        aria-describedby={hint ? `${id}hint` : undefined}
        onChange={(event) => change(chosen(event.target.value) ?? value)}
      >
        {options.map(([one, said]) => (
          <option key={one} value={one}>
            {said}
          </option>
        ))}
      </select>
      <Hint id={id} hint={hint} />
    </div>
  )
}

export function Tick({ words, hint, value, change }: Words & { value: boolean; change: (on: boolean) => void }) {
  const id = useId()
  return (
    <div className="field field-tick">
      <input
        id={id}
        type="checkbox"
        checked={value}
        aria-describedby={hint ? `${id}hint` : undefined}
        onChange={(event) => change(event.target.checked)}
      />
      <label htmlFor={id}>{words}</label>
      <Hint id={id} hint={hint} />
    </div>
  )
}

function Hint({ id, hint }: { id: string; hint: string | undefined }) {
  return hint ? (
    <small id={`${id}hint`} className="soft">
      {hint}
    </small>
  ) : null
}
