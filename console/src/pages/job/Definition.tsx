// The job as a file that can be applied.

import { asked } from "../../api/client"
import { ProblemBox } from "../../parts/ProblemBox"
import { useWords } from "../../parts/words"
import "./job.css"

export function Definition({ name }: { name: string }) {
  const t = useWords("designer")
  const { data, error } = asked.useQuery("get", "/api/v1/jobs/{name}/export", {
    params: { path: { name } },
    parseAs: "text",
  })
  return (
    <section className="card">
      <h2>{t("job.definition")}</h2>
      {error && <ProblemBox error={error} />}
      {data !== undefined && <pre tabIndex={0}>{String(data)}</pre>}
    </section>
  )
}
