// Pages that belong together, beside each other; without those that somebody may not see.
import { Link, type LinkProps } from "@tanstack/react-router"
import { useMay } from "./may"
import "./form/form.css"

export type Tab = { to: LinkProps["to"]; words: string; needs?: string }

export function Tabs({ label, tabs }: { label: string; tabs: Tab[] }) {
  const may = useMay()
  const shown = tabs.filter((tab) => tab.needs === undefined || may(tab.needs))
  if (shown.length < 2) return null
  return (
    <nav className="tabs" aria-label={label}>
      {shown.map((tab) => (
        <Link key={String(tab.to)} to={tab.to} activeOptions={{ includeSearch: false }}>
          {tab.words}
        </Link>
      ))}
    </nav>
  )
}
