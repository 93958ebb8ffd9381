// The little of Markdown that descriptions use: paragraphs, lists, headings, code, bold, italic, links. Made of elements, never
// of HTML that somebody wrote.
type Block = { kind: "p" | "h" | "li" | "pre"; text: string }

export function Markdown({ text }: { text: string }) {
  const groups = grouped(blocks(text))
  return (
    <div className="markdown">
      {groups.map((group, at) => {
        const first = group[0]
        const key = `${at}${first?.text}`
        if (first?.kind === "pre") return <pre key={key}>{first.text}</pre>
        if (first?.kind === "li")
          return (
            <ul key={key}>
              {group.map((item) => (
                <li key={item.text}>{inline(item.text)}</li>
              ))}
            </ul>
          )
        if (first?.kind === "h")
          return (
            <p key={key}>
              <strong>{inline(first.text)}</strong>
            </p>
          )
        return <p key={key}>{inline(first?.text ?? "")}</p>
      })}
    </div>
  )
}

/** Its first line as plain words, where there is room for one. */
export function firstWords(text: string): string {
  const line = text.split("\n").find((one) => one.trim() !== "") ?? ""
  return line.replace(/\[([^\]]+)\]\([^)]*\)/g, "$1").replace(/[*`]|^#+ /g, "")
}

export function blocks(text: string): Block[] {
  const out: Block[] = []
  let code: string[] | undefined
  let open = false
  for (const line of text.split("\n")) {
    if (line.startsWith("```")) {
      if (code) out.push({ kind: "pre", text: code.join("\n") })
      code = code ? undefined : []
      open = false
    } else if (code) code.push(line)
    else if (line.trim() === "") open = false
    else if (/^\s*[-*] /.test(line)) {
      out.push({ kind: "li", text: line.replace(/^\s*[-*] /, "") })
      open = false
    } else if (/^#{1,6} /.test(line)) {
      out.push({ kind: "h", text: line.replace(/^#+ /, "") })
      open = false
    } else {
      const last = out.at(-1)
      if (open && last) last.text += ` ${line.trim()}`
      else out.push({ kind: "p", text: line.trim() })
      open = true
    }
  }
  if (code) out.push({ kind: "pre", text: code.join("\n") })
  return out
}

function grouped(all: Block[]): Block[][] {
  return all.reduce<Block[][]>((groups, block) => {
    const last = groups.at(-1)
    if (block.kind === "li" && last?.[0]?.kind === "li") last.push(block)
    else groups.push([block])
    return groups
  }, [])
}

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|\[([^\]]+)\]\((https?:\/\/[^)\s]+)\)|(https?:\/\/[^\s<>)]+)/g

function inline(text: string): React.ReactNode[] {
  const out: React.ReactNode[] = []
  let from = 0
  for (const found of text.matchAll(INLINE)) {
    out.push(text.slice(from, found.index))
    const [, code, bold, italic, words, to, bare] = found
    const key = found.index
    if (code) out.push(<code key={key}>{code}</code>)
    else if (bold) out.push(<strong key={key}>{bold}</strong>)
    else if (italic) out.push(<em key={key}>{italic}</em>)
    else
      out.push(
        <a key={key} href={to ?? bare} rel="noreferrer noopener" target="_blank">
          {words ?? bare}
        </a>,
      )
    from = found.index + found[0].length
  }
  return [...out, text.slice(from)]
}
