// Which tenant is looked at; not there for whoever has one only, who never needs the word.
import { useNavigate } from "@tanstack/react-router"
import { asked } from "../api/client"
import { useMay, useWhoami } from "../parts/may"
import { useTenant } from "../parts/tenant"
import { useWords } from "../parts/words"

export function TenantChoice() {
  const t = useWords("shell")
  const { data: who } = useWhoami()
  const seesAll = useMay()("tenant.see")
  const listed = asked.useQuery("get", "/api/v1/tenants", undefined, { enabled: seesAll })
  const chosen = useTenant()
  const navigate = useNavigate()
  const own = who?.tenant
  const named = (who?.rights ?? []).map((right) => right.tenant).filter((name) => name !== null)
  const names = new Set([own, chosen, ...named, ...(listed.data?.items ?? []).map((one) => one.name)])
  const all = [...names].filter((name) => name !== undefined).sort()
  if (all.length < 2) return null
  const shown = chosen ?? own ?? ""
  // Filters and cursors of one tenant mean nothing in another.
  const go = (name: string) => void navigate({ to: ".", search: { tenant: name === own ? undefined : name } } as never)
  return (
    <label className="tenant">
      <span className="unseen">{t("tenant")}</span>
      <select value={shown} title={`${t("tenant")}: ${shown}`} onChange={(event) => go(event.target.value)}>
        {all.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  )
}
