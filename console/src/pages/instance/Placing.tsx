// How an instance's target was chosen: where it was to go, by which route, and what those answered that were asked.

import type { Schemas } from "../../api/client"
import { useWords } from "../../parts/words"

export function Placing({ placing }: { placing: Schemas["PlacingView"] }) {
  const t = useWords("editor")
  const { pool, labels, route, asked } = placing
  const chosen = typeof route === "string" ? t(`where.routes.${route}`) : `${t("where.routes.fixed")}: ${route.fixed}`
  const carrying = Object.entries(labels ?? {}).map(([name, value]) => `${name}=${value}`)
  return (
    <>
      {[pool, chosen, ...carrying].join(" · ")}
      {asked && (
        <small className="soft" lang="en">
          {" "}
          {asked}
        </small>
      )}
    </>
  )
}
