// Permissions by name; what each means is told on hover and to screen readers.
import { useWords } from "../../parts/words"
import { keyOf } from "./every"
import "./people.css"

export function Permissions({ names }: { names: string[] }) {
  const t = useWords("admin")
  return (
    <span className="perms">
      {names.map((name) => {
        const key = keyOf(name)
        return (
          <code key={name} title={key && t(`permission.${key}`)}>
            {name}
          </code>
        )
      })}
    </span>
  )
}
