// All tries at an instance; each has a log of its own.
import { Link } from "@tanstack/react-router"
import { asked } from "../../api/client"
import { Moment, Took } from "../../parts/Moment"
import { ProblemBox } from "../../parts/ProblemBox"
import { useWords } from "../../parts/words"
import type { Instance } from "../instances/InstanceRows"
import { hasUsed, Outputs, Usage } from "./Usage"
import type { Attempt } from "./way"
import "./attempts.css"

export function Attempts({ instance, shown }: { instance: Instance; shown: number }) {
  const t = useWords("monitor")
  const path = { id: instance.id }
  const { data, error } = asked.useQuery("get", "/api/v1/instances/{id}/attempts", { params: { path } })
  return (
    <section className="card">
      <h2>{t("instance.attempts")}</h2>
      {error && <ProblemBox error={error} />}
      <ol className="attempts">
        {data?.items.map((attempt) => (
          <li key={attempt.id} aria-current={attempt.id === shown ? "true" : undefined}>
            <Link
              to="/instances/$id"
              params={{ id: instance.id }}
              search={{ attempt: attempt.current ? undefined : attempt.id }}
              replace
              resetScroll={false}
            >
              {t("instance.attempt", { number: attempt.number })}
            </Link>
            <span>{t(`instance.verdict.${attempt.verdict ?? "open"}`)}</span>
            <span>{attempt.agent}</span>
            <Moment at={attempt.started_at ?? attempt.ordered_at} />
            <Took from={attempt.started_at} to={attempt.ended_at} />
            {attempt.message && <span className="soft">{attempt.message}</span>}
            <More attempt={attempt} />
          </li>
        ))}
      </ol>
    </section>
  )
}

/** What is known of an attempt besides: how it ended, what it used, what it gave. */
function More({ attempt }: { attempt: Attempt }) {
  const t = useWords("monitor")
  const outputs = attempt.outputs as Record<string, unknown> | null | undefined
  const gave = outputs != null && Object.keys(outputs).length > 0
  if (attempt.exit_code == null && !hasUsed(attempt.usage) && !gave) return null
  return (
    <div className="attempt-more">
      {attempt.exit_code != null && (
        <span>
          {t("instance.exit")} {attempt.exit_code}
        </span>
      )}
      {hasUsed(attempt.usage) && <Usage usage={attempt.usage} />}
      {gave && <Outputs outputs={outputs} />}
    </div>
  )
}
