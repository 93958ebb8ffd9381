// A line with the colours a terminal would give it, as classes of ours: the page's policy allows no styles in attributes.
import Anser from "anser"
import { memo } from "react"

export const Ansi = memo(function Ansi({ text, mark }: { text: string; mark: string }) {
  if (!text.includes("\u001b")) return <Marked text={text} mark={mark} />
  return Anser.ansiToJson(text, { use_classes: true, remove_empty: true }).map((piece, n) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces of a line have nothing else, and never move.
    <span key={n} className={classes(piece)}>
      <Marked text={piece.content} mark={mark} />
    </span>
  ))
})

function classes(piece: Anser.AnserJsonEntry): string {
  const front = piece.fg && /^ansi-[a-z-]+$/.test(piece.fg) ? piece.fg : ""
  const back = piece.bg && /^ansi-[a-z-]+$/.test(piece.bg) ? `${piece.bg}-bg` : ""
  return [front, back, ...piece.decorations.map((one) => `ansi-${one}`)].filter(Boolean).join(" ")
}

function Marked({ text, mark }: { text: string; mark: string }) {
  if (mark === "") return text
  const parts: React.ReactNode[] = []
  const low = text.toLowerCase()
  const needle = mark.toLowerCase()
  let from = 0
  for (let at = low.indexOf(needle); at >= 0; at = low.indexOf(needle, from)) {
    parts.push(text.slice(from, at), <mark key={at}>{text.slice(at, at + needle.length)}</mark>)
    from = at + needle.length
  }
  return [...parts, text.slice(from)]
}
