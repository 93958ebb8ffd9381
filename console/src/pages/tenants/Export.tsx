// Takes a tenant along as a file: jobs, pools, agents, variables, then history; of secrets the names only.

import { api } from "../../api/client"
import { Act, done } from "../../parts/Act"
import { save } from "../../parts/save"
import { useWords } from "../../parts/words"

export function Export({ name }: { name: string }) {
  const t = useWords("admin")
  const take = async () => {
    const params = { path: { name } }
    const file = await done(api.GET("/api/v1/tenants/{name}/export", { params, parseAs: "blob" }))
    save(file as Blob, `duly-tenant-${name}.jsonl`)
    return t("tenants.export_done")
  }
  return (
    <Act needs="tenant.edit" act={take}>
      {t("tenants.export")}
    </Act>
  )
}
