// What the server's problems and findings are called in Chinese, and what to do about them. An area is a file.

import type { Problems } from "../../problems"
import harden from "./harden"
import hints from "./hints"
import jobs from "./jobs"
import people from "./people"
import policy from "./policy"
import request from "./request"
import runs from "./runs"
import servers from "./servers"
import tenants from "./tenants"
import values from "./values"

export default {
  entries: { ...request, ...jobs, ...runs, ...people, ...servers, ...tenants, ...values, ...policy },
  // Advice that the server gives for one occurrence only, instead of what its code always says.
  advice: [
    [/^Try again in (\d+) s\.$/, "请在 $1 秒后重试。"],
    [/^Rerun its shards one by one, or trigger the job anew\.$/, "请逐个重新运行其分片，或重新触发该作业。"],
  ],
  hints,
  findings: harden,
} satisfies Problems
