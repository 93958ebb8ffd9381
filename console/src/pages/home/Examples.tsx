// Three examples, each one click away from a running job and its log.
import { useNavigate } from "@tanstack/react-router"
import { api } from "../../api/client"
import { Act, done } from "../../parts/Act"
import { browserZone, usePrefs } from "../../parts/prefs"
import { useWords } from "../../parts/words"
import { EXAMPLES, type Example, fileOf, nameOf } from "./examples"

export function Examples() {
  const t = useWords("monitor")
  return (
    <section aria-labelledby="examples">
      <h2 id="examples">{t("home.examples_title")}</h2>
      <p className="soft">{t("home.examples_intro")}</p>
      <ul className="columns examples">
        {EXAMPLES.map((example) => (
          <li key={example} className="card">
            <h3>{t(`home.example.${example}.title`)}</h3>
            <p>{t(`home.example.${example}.text`)}</p>
            <Run example={example} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function Run({ example }: { example: Example }) {
  const t = useWords("monitor")
  const { zone } = usePrefs()
  const navigate = useNavigate()
  const run = async () => {
    const name = nameOf(example)
    const text = fileOf(example, t(`home.example.${example}.title`), zone ?? browserZone())
    await done(api.POST("/api/v1/jobs/apply", { body: { files: [{ name: `${name}.yaml`, text }] } }))
    const made = await done(api.POST("/api/v1/jobs/{name}/trigger", { params: { path: { name } }, body: {} }))
    await navigate({ to: "/instances/$id", params: { id: made.id } })
    return undefined
  }
  return (
    <Act
      type="primary"
      needs="job.edit"
      act={run}
      aria-label={`${t("home.run")}: ${t(`home.example.${example}.title`)}`}
    >
      {t("home.run")}
    </Act>
  )
}
