// A field whose text means something only when it is whole: it counts when the field is left.
import { useEffect, useState } from "react"
import { Area, Field } from "../../parts/form/Field"

type Props = { words: string; hint?: string | undefined; value: string; change: (line: string) => void; rows?: number }

export function LineField({ words, hint, value, change, rows }: Props) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const leave = () => {
    if (text !== value) change(text)
  }
  const field = { words, hint, value: text, change: setText, onBlur: leave }
  return rows ? <Area {...field} rows={rows} className="source" spellCheck={false} /> : <Field {...field} />
}
