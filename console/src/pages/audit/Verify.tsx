// Walks along the chain of the audit and says whether anything was changed; takes all of it along as a file.
import { useState } from "react"
import { api, type Schemas } from "../../api/client"
import { Act, done } from "../../parts/Act"
import { Field } from "../../parts/form/Field"
import { Form } from "../../parts/form/Form"
import { Copied } from "../../parts/form/Once"
import { Opens } from "../../parts/form/Opens"
import { Tag } from "../../parts/StateTag"
import { save } from "../../parts/save"
import { useWords } from "../../parts/words"

type Result = Schemas["AuditVerifyView"]

export function Verify() {
  const t = useWords("admin")
  return (
    <Opens needs="audit.see" words={t("audit.verify")} title={t("audit.verify")}>
      {() => <Check />}
    </Opens>
  )
}

function Check() {
  const t = useWords("admin")
  const [expect, setExpect] = useState("")
  const [result, setResult] = useState<Result>()
  const check = async () => {
    const query = { expect: expect.trim() || undefined }
    setResult(await done(api.GET("/api/v1/audit/verify", { params: { query } })))
    return undefined
  }
  return (
    <>
      <Form submit={t("audit.verify_go")} act={check}>
        <p className="soft">{t("audit.verify_hint")}</p>
        <Field words={t("audit.expect")} hint={t("audit.expect_hint")} value={expect} change={setExpect} />
      </Form>
      {result && <Found result={result} />}
    </>
  )
}

function Found({ result }: { result: Result }) {
  const t = useWords("admin")
  return (
    <div role="status" className="form">
      <p>
        <Tag tone={result.ok ? "good" : "bad"}>{result.ok ? t("audit.whole") : t("audit.broken")}</Tag>{" "}
        {t("audit.entries", { count: result.entries })}
      </p>
      <ul>
        {result.findings.map((finding) => (
          <li key={`${finding.seq}${finding.kind}`}>
            {finding.seq}: {finding.message}
          </li>
        ))}
      </ul>
      {result.more > 0 && <p>{t("audit.more", { count: result.more })}</p>}
      <p className="soft">{t("audit.head_hint")}</p>
      <Copied text={`${result.head.seq}:${result.head.hash}`} />
    </div>
  )
}

export function Export() {
  const t = useWords("admin")
  const take = async () => {
    save((await done(api.GET("/api/v1/audit/export", { parseAs: "blob" }))) as Blob, "duly-audit.jsonl")
    return undefined
  }
  return (
    <Act needs="audit.see" act={take}>
      {t("audit.export")}
    </Act>
  )
}
