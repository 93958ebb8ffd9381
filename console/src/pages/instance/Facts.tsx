// What is known about an instance, without what is not there.
import { Link } from "@tanstack/react-router"
import { Moment, Took } from "../../parts/Moment"
import { useMay } from "../../parts/may"
import { Tag } from "../../parts/StateTag"
import { length } from "../../parts/time"
import { useWords } from "../../parts/words"
import { Cause } from "../instances/Cause"
import type { Instance } from "../instances/InstanceRows"
import { Placing } from "./Placing"
import { hasUsed, Outputs, Usage } from "./Usage"

export function Facts({ instance: it }: { instance: Instance }) {
  const t = useWords("monitor")
  const late = it.started_at ? Date.parse(it.started_at) - Date.parse(it.planned_at) : undefined
  const facts: [string, React.ReactNode, unknown][] = [
    [t("instance.cause"), <Cause key="cause" cause={it.cause} />, it.cause],
    [t("instance.planned"), <Moment key="planned" at={it.planned_at} />, it.planned_at],
    [t("instance.ordered"), <Moment key="ordered" at={it.ordered_at} />, it.ordered_at],
    [t("instance.started"), <Moment key="started" at={it.started_at} />, it.started_at],
    [t("instance.late"), length(late ?? 0), it.attempt_no === 1 && late !== undefined && late > 1000],
    [t("instance.ended"), <Moment key="ended" at={it.ended_at} />, it.ended_at],
    [t("instance.took"), <Took key="took" from={it.started_at} to={it.ended_at} />, it.started_at],
    [t("instance.retry_at"), <Moment key="retry" at={it.retry_at} />, it.retry_at],
    [t("instance.agent"), <Agent key="agent" instance={it} />, it.agent],
    [t("instance.placing"), it.placing && <Placing key="placing" placing={it.placing} />, it.placing],
    [t("instance.params"), <Params key="params" params={it.params} />, it.params != null],
    [t("instance.version"), it.version, it.version],
    [t("instance.part"), it.part && t("instance.part_of", { index: it.part.index + 1, total: it.part.total }), it.part],
    [t("instance.parent"), <Parent key="parent" id={it.parent} />, it.parent],
    [t("instance.exit"), it.exit_code, it.exit_code != null],
    [t("instance.message"), it.message, it.message],
    [t("instance.usage"), <Usage key="usage" usage={it.usage} />, hasUsed(it.usage)],
    [
      t("instance.output"),
      <Outputs key="output" outputs={it.outputs ?? {}} />,
      it.outputs && Object.keys(it.outputs).length,
    ],
  ]
  return (
    <section className="card">
      <h2>{t("instance.facts")}</h2>
      {it.stopping && <p>{t("instance.stopping", { by: it.stopping.by })}</p>}
      {it.uncertain && (
        <p role="status">
          <Tag tone="warn">{t("instance.uncertain")}</Tag> {t("instance.uncertain_since")}{" "}
          <Moment at={it.uncertain.since} />: {it.uncertain.why}
        </p>
      )}
      <dl className="facts">
        {facts
          .filter(([, , there]) => Boolean(there))
          .map(([words, value]) => (
            <Fact key={words} words={words}>
              {value}
            </Fact>
          ))}
      </dl>
    </section>
  )
}

function Fact({ words, children }: { words: string; children: React.ReactNode }) {
  return (
    <>
      <dt>{words}</dt>
      <dd>{children}</dd>
    </>
  )
}

function Parent({ id }: { id: number | null | undefined }) {
  if (id == null) return null
  return (
    <Link to="/instances/$id" params={{ id }}>
      {id}
    </Link>
  )
}

function Agent({ instance: { agent, agent_id: id } }: { instance: Instance }) {
  const may = useMay()
  if (id == null || !may("agent.see")) return agent
  return (
    <Link to="/agents/$id" params={{ id }}>
      {agent}
    </Link>
  )
}

/** What the task was given, one by one; or the one text an executor takes. */
function Params({ params }: { params: Instance["params"] }) {
  if (typeof params !== "object" || params === null) return <code>{String(params)}</code>
  return <Outputs outputs={params as Record<string, unknown>} />
}
