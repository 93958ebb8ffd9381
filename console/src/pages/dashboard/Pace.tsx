// How much is done, and how long after its time it begins: now, and since this page was opened.
import { useEffect, useState } from "react"
import type { Schemas } from "../../api/client"
import { length } from "../../parts/time"
import { useWords } from "../../parts/words"
import { remembered, type Sample, spark } from "./figures"

const MINUTES = 5

export function Pace({ overview }: { overview?: Schemas["OverviewView"] }) {
  const t = useWords("monitor")
  const [samples, setSamples] = useState<Sample[]>([])
  useEffect(() => {
    if (!overview) return
    const delay = (overview.start_delay?.half_us ?? 0) / 1000
    setSamples((before) => remembered(before, { at: Date.parse(overview.at), ended: overview.ended / MINUTES, delay }))
  }, [overview])
  const delay = overview?.start_delay
  return (
    <section className="card" aria-labelledby="pace">
      <h2 id="pace">{t("dashboard.pace")}</h2>
      {overview && <p>{t("dashboard.per_minute", { count: Number((overview.ended / MINUTES).toFixed(1)) })}</p>}
      <Spark label={t("dashboard.per_minute_chart")} values={samples.map((one) => one.ended)} />
      {delay && (
        <p>{t("dashboard.start_delay", { half: length(delay.half_us / 1000), most: length(delay.most_us / 1000) })}</p>
      )}
      {delay && <Spark label={t("dashboard.start_delay_chart")} values={samples.map((one) => one.delay)} />}
    </section>
  )
}

function Spark({ label, values }: { label: string; values: number[] }) {
  if (values.length < 2) return null
  return (
    <svg className="spark" viewBox="0 0 100 20" preserveAspectRatio="none" role="img" aria-label={label}>
      <title>{label}</title>
      <polyline points={spark(values)} />
    </svg>
  )
}
