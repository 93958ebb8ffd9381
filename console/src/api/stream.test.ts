import { expect, test } from "vitest"
import { concerns, type Event } from "./stream"

const at = "2026-11-16T00:00:00.000000Z"
const event = (kind: Event["kind"], more: Partial<Event> = {}): Event => ({ id: 1, at, kind, ...more })
const query = (path: string, named?: Record<string, unknown>) => ({
  queryKey: ["get", path, named ? { params: { path: named } } : undefined],
})

test("an instance concerns itself, its job, every list and the figures", () => {
  const ended = event("instance_ended", { instance: 7, job: "tick" })
  for (const [path, named] of [
    ["/api/v1/instances", undefined],
    ["/api/v1/instances/{id}", { id: 7 }],
    ["/api/v1/instances/{id}/why", { id: 7 }],
    ["/api/v1/jobs", undefined],
    ["/api/v1/jobs/{name}", { name: "tick" }],
    ["/api/v1/stats", undefined],
  ] as const) {
    expect(concerns(ended, query(path, named)), path).toBe(true)
  }
  expect(concerns(ended, query("/api/v1/instances/{id}", { id: 8 }))).toBe(false)
  expect(concerns(ended, query("/api/v1/jobs/{name}", { name: "tock" }))).toBe(false)
  expect(concerns(ended, query("/api/v1/agents"))).toBe(false)
})

test("an agent concerns agents, and after a break everything but who one is may be old", () => {
  expect(concerns(event("agent_silent"), query("/api/v1/agents"))).toBe(true)
  expect(concerns(event("agent_silent"), query("/api/v1/jobs"))).toBe(false)
  expect(concerns(event("reset"), query("/api/v1/variables"))).toBe(true)
  expect(concerns(event("reset"), query("/api/v1/whoami"))).toBe(false)
})
