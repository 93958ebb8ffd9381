// What a job does: its one task, and what the task is given.

import { Area, Choice, Field } from "../../parts/form/Field"
import { useWords } from "../../parts/words"
import { type Body, longOf, mapIn, swap, TASKS, textOf, type Value } from "./draft"
import { LineField } from "./LineField"
import { Section, type SectionProps, word } from "./Section"

const SCRIPTS = ["sh", "python", "node", "php", "powershell"] as const
type Task = (typeof TASKS)[number]
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] as const
const KEYS = [...TASKS, "params", "env", "env_pass", "secrets", "variables", "cwd", "run_as", "timeout", "exit"]

const taskOf = (body: Body): Task => TASKS.find((task) => body[task] !== undefined && body[task] !== null) ?? "sh"

export function TaskSection({ body, set, faults, text, change }: SectionProps) {
  const t = useWords("editor")
  const task = taskOf(body)
  const begin = (kind: Task) => change(swap(text, TASKS, kind, carried(body, task, kind)))
  return (
    <Section title={t("task.title")} keys={KEYS} faults={faults}>
      <Choice
        words={t("task.kind")}
        hint={t(`task.hint.${task}`)}
        value={task}
        options={TASKS.map((one) => [one, t(`task.of.${one}`)] as const)}
        change={begin}
      />
      <Given task={task} body={body} set={set} />
      <MapField
        words={t("task.params")}
        hint={t("task.params_hint")}
        value={body.params}
        change={(v) => set(["params"], v)}
      />
      <MapField words={t("task.env")} hint={t("task.env_hint")} value={body.env} change={(v) => set(["env"], v)} />
      <MapField
        words={t("task.secrets")}
        hint={t("task.secrets_hint")}
        value={body.secrets}
        change={(v) => set(["secrets"], v)}
      />
      <Field
        words={t("task.timeout")}
        hint={t("task.timeout_hint")}
        value={word(body.timeout)}
        change={(v) => set(["timeout"], v)}
        placeholder="20m"
      />
      <Field words={t("task.cwd")} hint={t("task.cwd_hint")} value={word(body.cwd)} change={(v) => set(["cwd"], v)} />
    </Section>
  )
}

/** Something to begin with; a script stays what it was when only its language changes. */
function carried(body: Body, from: Task, to: Task): Value {
  const scripts: readonly string[] = SCRIPTS
  if (scripts.includes(from) && scripts.includes(to)) return body[from] ?? ""
  const begun: Partial<Record<Task, Value>> = {
    sh: "echo hello\n",
    python: "print('hello')\n",
    node: "console.log('hello')\n",
    php: "<?php echo 'hello';\n",
    powershell: "Write-Output 'hello'\n",
    command: ["uname", "-a"],
    http: "https://example.com/",
    executor: "demoJobHandler",
  }
  return begun[to] ?? true
}

function Given({ task, body, set }: { task: Task; body: Body; set: SectionProps["set"] }) {
  const t = useWords("editor")
  const long = longOf(body, task)
  switch (task) {
    case "sh":
    case "python":
    case "node":
    case "php":
    case "powershell":
      return (
        <div className="wide">
          <Area
            words={t("task.source")}
            hint={t("task.source_hint")}
            value={word(long.source)}
            change={(source) => set(typeof body[task] === "string" ? [task] : [task, "source"], source || " ")}
            rows={8}
            className="source"
            spellCheck={false}
          />
        </div>
      )
    case "command":
      return (
        <div className="wide">
          <LineField
            words={t("task.argv")}
            hint={t("task.argv_hint")}
            value={Array.isArray(body.command) ? body.command.map(String).join("\n") : ""}
            change={(lines) => set(["command"], lines.split("\n").filter(Boolean))}
            rows={4}
          />
        </div>
      )
    case "http":
      return (
        <>
          <Field
            words={t("task.url")}
            value={word(long.url)}
            change={(v) => set(["http", "url"], v || " ")}
            type="url"
          />
          <Choice
            words={t("task.method")}
            value={METHODS.find((one) => one === long.method) ?? "GET"}
            options={METHODS.map((one) => [one, one] as const)}
            change={(v) => set(["http", "method"], v === "GET" ? undefined : v)}
          />
          <div className="wide">
            <Area
              words={t("task.body")}
              hint={t("task.body_hint")}
              value={word(long.body)}
              change={(v) => set(["http", "body"], v)}
              rows={3}
            />
          </div>
        </>
      )
    case "executor":
      return (
        <>
          <Field
            words={t("task.handler")}
            hint={t("task.handler_hint")}
            value={word(long.handler)}
            change={(v) => set(["executor", "handler"], v)}
          />
          <Field words={t("task.text")} value={word(long.params)} change={(v) => set(["executor", "params"], v)} />
        </>
      )
    case "noop":
      return null
  }
}

/** Names with values, a line each, as the file has them. */
function MapField(props: {
  words: string
  hint: string
  value: Value | undefined
  change: (value: Body | undefined) => void
}) {
  const t = useWords("editor")
  const map = typeof props.value === "object" && props.value !== null && !Array.isArray(props.value) ? props.value : {}
  const change = (lines: string) => {
    const read = mapIn(lines)
    if (read) props.change(Object.keys(read).length > 0 ? read : undefined)
  }
  return (
    <LineField
      words={props.words}
      hint={`${props.hint} ${t("task.map_hint")}`}
      value={Object.keys(map).length > 0 ? textOf(map).trimEnd() : ""}
      change={change}
      rows={2}
    />
  )
}
