// What one presses: a plain button, cheap enough for hundreds of them in a list. Explains itself when it cannot be pressed.
import { useId } from "react"
import "./press.css"

export type PressProps = Omit<React.ButtonHTMLAttributes<HTMLButtonElement>, "type"> & {
  /** The one that is meant first on its page. */
  type?: "primary" | "text"
  size?: "small" | "middle"
  danger?: boolean
  submits?: boolean
  busy?: boolean
  /** Why it cannot be pressed. */
  whyNot?: string | undefined
}

export function Press({ type, size, danger, submits, busy, whyNot, disabled, onClick, ...button }: PressProps) {
  const id = useId()
  const looks = [type && `press-${type}`, size === "small" && "press-small", danger && "press-danger"]
  const shown = (
    <button
      {...button}
      type={submits ? "submit" : "button"}
      className={["press", ...looks].filter(Boolean).join(" ")}
      disabled={disabled || whyNot !== undefined}
      // Not disabled meanwhile: whoever pressed it by keyboard would be nowhere.
      aria-busy={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : onClick}
      aria-describedby={whyNot ? id : undefined}
    />
  )
  if (!whyNot) return shown
  return (
    <span className="why-not" tabIndex={0} aria-describedby={id}>
      {shown}
      <span role="tooltip" id={id}>
        {whyNot}
      </span>
    </span>
  )
}
