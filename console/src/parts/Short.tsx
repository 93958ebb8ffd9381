// A name where there is little room: a long one is cut, and told whole on hover.
export function Short({ text }: { text: string }) {
  return (
    <span className="short" title={text}>
      {text}
    </span>
  )
}
