// What a task used and gave: processor, memory, log, and its named outputs.

import type { Schemas } from "../../api/client"
import { useWords } from "../../parts/words"

type Used = Schemas["UsageView"]

export function hasUsed({ cpu_us, peak_kb, log_bytes }: Used): boolean {
  return (cpu_us ?? peak_kb ?? log_bytes) != null
}

export function Usage({ usage }: { usage: Used }) {
  const t = useWords("monitor")
  const said = [
    usage.cpu_us != null && t("instance.cpu", { seconds: (usage.cpu_us / 1e6).toFixed(2) }),
    usage.peak_kb != null && t("instance.memory", { mb: (usage.peak_kb / 1024).toFixed(1) }),
    usage.log_bytes != null && t("instance.log_kb", { kb: (usage.log_bytes / 1024).toFixed(1) }),
  ]
  return said.filter(Boolean).join(" · ")
}

export function Outputs({ outputs }: { outputs: Record<string, unknown> }) {
  return (
    <ul className="params">
      {Object.entries(outputs).map(([name, value]) => (
        <li key={name}>
          <code>
            {name}={typeof value === "string" ? value : JSON.stringify(value)}
          </code>
        </li>
      ))}
    </ul>
  )
}
