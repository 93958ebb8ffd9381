// Something that is shown once, such as a token: selected by a click, copied by a button, and said that it does not come back.
import { useState } from "react"
import { useWords } from "../words"

export function Once({ words, text }: { words: string; text: string }) {
  return (
    <>
      <p>{words}</p>
      <Copied text={text} />
    </>
  )
}

export function Copied({ text }: { text: string }) {
  const t = useWords("parts")
  const [done, setDone] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setDone(true)
  }
  return (
    <div className="copied">
      <pre tabIndex={0}>{text}</pre>
      {/* Browsers give the clipboard only to safe addresses. */}
      {window.isSecureContext && (
        <button type="button" className="plain" onClick={() => void copy()}>
          {done ? t("copied") : t("copy")}
        </button>
      )}
    </div>
  )
}
