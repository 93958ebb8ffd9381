// The next planned times exactly as they will happen, in the job's zone and in the chosen one.

import { asked } from "../../api/client"
import { Moment } from "../../parts/Moment"
import { ProblemBox } from "../../parts/ProblemBox"
import { browserZone, usePrefs } from "../../parts/prefs"
import { inZone } from "../../parts/time"
import { useWords } from "../../parts/words"
import { useNote } from "../../words/notes"

export function NextTimes({ name }: { name: string }) {
  const t = useWords("designer")
  const zone = usePrefs().zone ?? browserZone()
  const params = { path: { name }, query: { n: 5 } }
  const { data, error } = asked.useQuery("get", "/api/v1/jobs/{name}/next", { params })
  const note = useNote(data?.note)
  return (
    <section className="card">
      <h2>{t("job.next")}</h2>
      {error && <ProblemBox error={error} />}
      {note && <p className="soft">{note}</p>}
      {data && data.fires.length === 0 && !data.note && <p className="soft">{t("job.next_none")}</p>}
      {data && data.fires.length > 0 && (
        <>
          <ol className="next">
            {data.fires.map((fire) => (
              <li key={fire.at + fire.local}>
                <Moment at={fire.at} />{" "}
                {data.zone !== zone && (
                  <small className="soft number">
                    {inZone(new Date(fire.at), data.zone)} {data.zone}
                  </small>
                )}
              </li>
            ))}
          </ol>
          <small className="soft">{t("job.next_zone", { zone: data.zone })}</small>
        </>
      )}
    </section>
  )
}
