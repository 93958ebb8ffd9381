// The way of an instance from state to state, with how long each step took.

import { asked } from "../../api/client"
import { Moment, Took } from "../../parts/Moment"
import { StateTag } from "../../parts/StateTag"
import { useWords } from "../../parts/words"
import type { Instance } from "../instances/InstanceRows"
import { history, type Step } from "./way"

export function History({ instance: it }: { instance: Instance }) {
  const t = useWords("monitor")
  const path = { id: it.id }
  const { data } = asked.useQuery("get", "/api/v1/instances/{id}/attempts", { params: { path } })
  const steps = history(it, data?.items ?? [])
  return (
    <section className="card">
      <h2>{t("instance.history")}</h2>
      <ol className="history way">
        {steps.map((step, index) => (
          <li key={`${step.kind}${step.attempt?.id ?? ""}${step.at}`}>
            <Words step={step} instance={it} />
            {step.kind !== "waited" && <Moment at={step.at} />}
            <Since step={step} before={index > 1 ? steps[index - 1] : undefined} />
          </li>
        ))}
        {it.stopping && <li>{t("instance.stopping", { by: it.stopping.by })}</li>}
      </ol>
    </section>
  )
}

function Words({ step, instance }: { step: Step; instance: Instance }) {
  const t = useWords("monitor")
  const number = step.attempt?.number
  switch (step.kind) {
    case "planned":
    case "created":
      return <span>{t(`instance.${step.kind}`)}</span>
    case "ordered":
    case "started":
      return <span>{t(`instance.step.${step.kind}`, { number, agent: step.attempt?.agent ?? "–" })}</span>
    case "verdict":
      return (
        <span>
          {t("instance.step.verdict", { number, verdict: t(`instance.verdict.${step.attempt?.verdict ?? "open"}`) })}
        </span>
      )
    case "waited":
      return (
        <span className="soft">
          {t("instance.step.waited")} <Took from={step.at} to={step.until} />
        </span>
      )
    case "uncertain":
      return <span>{t("instance.uncertain")}</span>
    case "retry":
      return <span>{t("instance.retry_at")}</span>
    case "ended":
      return (
        <span>
          {t("instance.ended")} <StateTag state={instance.state} />
        </span>
      )
  }
}

/** How long after the step before; what is still to come, and a wait that is told itself, have none. */
function Since({ step, before }: { step: Step; before: Step | undefined }) {
  if (!before || before.kind === "waited" || step.kind === "waited" || step.kind === "retry" || before.at === step.at)
    return null
  return (
    <small className="soft">
      + <Took from={before.at} to={step.at} />
    </small>
  )
}
