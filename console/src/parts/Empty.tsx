// An empty list says what to do next.
export function Empty({ title, hint, children }: { title: string; hint?: string; children?: React.ReactNode }) {
  return (
    <div className="empty">
      <p>
        <strong>{title}</strong>
      </p>
      {hint && <p className="soft">{hint}</p>}
      {children}
    </div>
  )
}
