// What else belongs to an instance: its shares of a broadcast, and what people did to it.
import { Link } from "@tanstack/react-router"
import { asked } from "../../api/client"
import { Moment } from "../../parts/Moment"
import { useMay } from "../../parts/may"
import { useWords } from "../../parts/words"
import { type Instance, InstanceRows } from "../instances/InstanceRows"

export function Shares({ instance }: { instance: Instance }) {
  const t = useWords("monitor")
  const query = { parent: instance.id, limit: 100 }
  const { data } = asked.useQuery("get", "/api/v1/instances", { params: { query } })
  if (!data || data.items.length === 0) return null
  return (
    <section aria-labelledby="shares">
      <h2 id="shares">{t("instance.shares")}</h2>
      <InstanceRows rows={data.items} label={t("instance.shares")} without={["job", "cause"]} />
    </section>
  )
}

export function Interventions({ id }: { id: number }) {
  const t = useWords("monitor")
  const isAllowed = useMay()("audit.see")
  const query = { about: String(id), limit: 20 }
  const { data } = asked.useQuery("get", "/api/v1/audit", { params: { query } }, { enabled: isAllowed })
  const own = data?.items.filter((one) => one.entry.operation.startsWith("instance_")) ?? []
  if (own.length === 0) return null
  return (
    <section className="card">
      <h2>{t("instance.interventions")}</h2>
      <ol className="history">
        {own.map(({ seq, entry }) => (
          <li key={seq}>
            <Link to="/audit/$seq" params={{ seq }}>
              {entry.operation}
            </Link>{" "}
            {entry.who} <Moment at={entry.at} /> <span className="soft">{entry.reason}</span>
          </li>
        ))}
      </ol>
    </section>
  )
}
