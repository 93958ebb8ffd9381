// The last results of a job as a strip, newest at the right; each leads to its instance.
import { browserZone, usePrefs } from "../../parts/prefs"
import { toneOf } from "../../parts/StateTag"
import { To, toInstance } from "../../parts/To"
import { inZone } from "../../parts/time"
import { useWords } from "../../parts/words"
import type { Job } from "./JobActions"

export function Strip({ job }: { job: Job }) {
  const t = useWords("parts")
  const zone = usePrefs().zone ?? browserZone()
  return (
    <span className="strip">
      {[...job.recent].reverse().map((one) => {
        const said = `${t(`state.${one.state}`)}, ${inZone(new Date(one.planned_at), zone)}`
        return (
          <To
            key={one.instance}
            to={toInstance(one.instance)}
            className={`strip-${toneOf(one.state)}`}
            aria-label={said}
            title={said}
          />
        )
      })}
    </span>
  )
}
