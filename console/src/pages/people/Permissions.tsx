// Permissions by name; what each means is told on hover and to screen readers.
import { useTranslation } from "react-i18next"
import { keyOf } from "./every"
import "./people.css"

export function Permissions({ names }: { names: string[] }) {
  const { t } = useTranslation("admin")
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
