// What made an instance, in words.

import type { Schemas } from "../../api/client"
import { To, toInstance } from "../../parts/To"
import { useWords } from "../../parts/words"

export function Cause({ cause }: { cause: Schemas["CauseView"] }) {
  const t = useWords("monitor")
  switch (cause.kind) {
    case "planned":
      return t("cause.planned")
    case "misfire":
      return t("cause.misfire", { count: cause.missed })
    case "manual":
      return t("cause.manual", { by: cause.by })
    case "after":
    case "shard":
      return <To to={toInstance(cause.instance)}>{t(`cause.${cause.kind}`, { instance: cause.instance })}</To>
  }
}
