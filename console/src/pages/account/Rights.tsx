// What whoever is signed in may do, and where.

import { useWhoami } from "../../parts/may"
import { useWords } from "../../parts/words"
import { Permissions } from "../people/Permissions"
import { Scope } from "../rights/Scope"

export function Rights() {
  const t = useWords("admin")
  const { data } = useWhoami()
  return (
    <section className="card">
      <h2>{t("account.rights")}</h2>
      {data?.rights.map((right) => (
        <details key={JSON.stringify(right)}>
          <summary>
            <Scope scope={right} />
          </summary>
          <Permissions names={right.permissions} />
        </details>
      ))}
    </section>
  )
}
