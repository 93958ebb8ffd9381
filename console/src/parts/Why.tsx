// Why something is as it is: in the chosen language, and in the server's words, which name the things.
import type { Schemas } from "../api/client"
import { useWhy } from "../words/why"
import { ProblemBox } from "./ProblemBox"

export function Why({ title, why, error }: { title: string; why: Schemas["WhyView"] | undefined; error: unknown }) {
  const words = useWhy()
  return (
    <section className="card">
      <h2>{title}</h2>
      {error ? <ProblemBox error={error} /> : null}
      {(words ? why?.reasons : [])?.map((reason) => {
        const said = words?.(reason.kind)
        return (
          <p key={`${reason.kind}${reason.text}`} className="why">
            {said ?? reason.text}
            {said && (
              <small className="soft why-own" lang="en">
                {reason.text}
              </small>
            )}
          </p>
        )
      })}
    </section>
  )
}
