// What the server says about a draft while somebody writes it: what saving would do, or everything that is wrong. Asks when
// writing has paused, and never changes anything.
import { useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { api, type Schemas } from "../../api/client"
import { asProblem, type Problem } from "../../api/problem"
import { done } from "../../parts/Act"

export type Plan = Schemas["PlanView"]
export type Check = { plan?: Plan | undefined; problem?: Problem | undefined; checking: boolean; begun: boolean }

const PAUSE_MS = 700

export function useLate<Value>(value: Value, pause = PAUSE_MS): Value {
  const [late, setLate] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setLate(value), pause)
    return () => clearTimeout(timer)
  }, [value, pause])
  return late
}

export function apply(text: string, name: string, dryRun: boolean): Promise<Plan> {
  return done(api.POST("/api/v1/jobs/apply", { body: { dry_run: dryRun, files: [{ name, text }] } }))
}

/** Nothing is asked about what has not begun: it would only be refused. */
export function useCheck(text: string, name: string, hasBegun = (_: string) => true): Check {
  const late = useLate(text)
  const begun = hasBegun(text)
  const { data, error, isFetching } = useQuery({
    queryKey: ["check", name, late],
    queryFn: () => apply(late, name, true),
    enabled: late.trim() !== "" && hasBegun(late),
    retry: false,
    staleTime: 10_000,
    refetchOnWindowFocus: false,
  })
  if (!begun) return { checking: false, begun }
  const checking = isFetching || late !== text
  return { plan: data, problem: error ? asProblem(error) : undefined, checking, begun }
}
