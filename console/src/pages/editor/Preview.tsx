// The next times of a trigger exactly as the server will keep them, on the clocks of its zone; says where the clocks change.
import { keepPreviousData } from "@tanstack/react-query"
import { asked, type Schemas } from "../../api/client"
import { Moment } from "../../parts/Moment"
import { ProblemBox } from "../../parts/ProblemBox"
import { Tag } from "../../parts/StateTag"
import { useWords } from "../../parts/words"
import { useNote } from "../../words/notes"
import { useLate } from "./check"
import type { Value } from "./draft"

type Asked = Schemas["PreviewBody"]
type Fire = Schemas["FireView"]

export function Preview({ trigger, value }: { trigger: "cron" | "every" | "once"; value: Value }) {
  const t = useWords("editor")
  const said = useLate(JSON.stringify({ [trigger]: value, n: 8 }))
  const { data, error } = asked.useQuery(
    "post",
    "/api/v1/preview",
    { body: JSON.parse(said) as Asked },
    { placeholderData: keepPreviousData, retry: false, staleTime: 30_000 },
  )
  const note = useNote(data?.note)
  return (
    <section aria-labelledby="preview" className="preview">
      <h3 id="preview">{t("preview.title")}</h3>
      {error && <ProblemBox error={error} />}
      {!error && data && (
        <>
          {note && <p className="soft">{note}</p>}
          {data.fires.length === 0 && <p className="soft">{t("preview.none")}</p>}
          <ol className="next">
            {data.fires.map((fire, at) => (
              <li key={fire.at}>
                <span className="number">{clock(fire)}</span>{" "}
                <small className="soft">
                  <Moment at={fire.at} />
                </small>{" "}
                {isShifted(data.fires[at - 1], fire) && (
                  <Tag tone="warn">{t("preview.dst", { offset: offset(fire) })}</Tag>
                )}
              </li>
            ))}
          </ol>
          <small className="soft">{t("preview.zone", { zone: data.zone })}</small>
        </>
      )}
    </section>
  )
}

/** `2027-03-14T03:00:00-04:00` as people read it. */
function clock(fire: Fire): string {
  return fire.local.slice(0, 19).replace("T", " ")
}

function offset(fire: Fire): string {
  return fire.local.slice(19).replace(/^\.\d+/, "") || "Z"
}

function isShifted(before: Fire | undefined, fire: Fire): boolean {
  return before !== undefined && offset(before) !== offset(fire)
}
