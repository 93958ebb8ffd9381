// A field whose text counts when typing has paused: nothing is asked for half a word.
import { useEffect, useRef, useState } from "react"

const PAUSE_MS = 300

type Props = Omit<React.InputHTMLAttributes<HTMLInputElement>, "value" | "onChange"> & {
  value: string
  change: (text: string) => void
}

export function LateInput({ value, change, ...input }: Props) {
  const [text, setText] = useState(value)
  const timer = useRef<number>(undefined)
  // The address may change by itself: somebody goes back, or clears the filters.
  useEffect(() => setText(value), [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  const later = (typed: string) => {
    setText(typed)
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => change(typed.trim()), PAUSE_MS)
  }
  const now = () => {
    clearTimeout(timer.current)
    if (text.trim() !== value) change(text.trim())
  }
  return (
    <input
      {...input}
      value={text}
      onChange={(event) => later(event.target.value)}
      onKeyDown={(event) => event.key === "Enter" && now()}
    />
  )
}
