// Three jobs to begin with. As files, so that what is applied is what somebody would write.
export const EXAMPLES = ["hello", "flaky", "report"] as const
export type Example = (typeof EXAMPLES)[number]

export const nameOf = (example: Example) => `example-${example}`

/** With a description in the words of whoever makes it, and times in their zone. */
export function fileOf(example: Example, description: string, zone: string): string {
  const body = files[example].replace("ZONE", JSON.stringify(zone))
  return `job: ${nameOf(example)}\nfolder: examples\ndescription: ${JSON.stringify(description)}\n${body}`
}

const files: Record<Example, string> = {
  hello: `cron: "0 * * * * ?"
sh: |
  printf '\\033[32mhello\\033[0m, it is %s\\n' "$DULY_PLANNED_AT"
  for n in 1 2 3 4 5; do
    printf 'step \\033[36m%s\\033[0m of 5\\n' "$n"
    sleep 0.4
  done
  printf '\\033[1mdone\\033[0m\\n'
timeout: 1m
`,
  flaky: `manual: true
sh: |
  echo "this is attempt $DULY_ATTEMPT_NO"
  [ "$DULY_ATTEMPT_NO" -gt 1 ] || { echo "error: not this time" >&2; exit 1; }
  echo "it works now"
retry: { times: 3, delay: 3s }
`,
  report: `cron: { expr: "0 30 2 ? * MON-FRI", zone: ZONE, misfire: { rule: once, grace: 1h } }
params: { region: east }
sh: |
  echo "counting region $DULY_PARAM_REGION"
  for n in 25 50 75 100; do
    printf '\\r%s %%' "$n"
    sleep 0.5
  done
  printf '\\nreport written\\n'
overlap: skip
timeout: 5m
`,
}
