// What the finder looks through: pages, jobs as the server finds them, everything else by name from lists that are asked for when
// the finder opens. Only what somebody may see.
import { useEffect, useState } from "react"
import { asked } from "../api/client"
import { useFavourites } from "../parts/favourites"
import { useMay } from "../parts/may"
import { useWords } from "../parts/words"
import { PLACES } from "./places"

export type Kind =
  | "instance"
  | "job"
  | "agent"
  | "pool"
  | "person"
  | "group"
  | "tenant"
  | "variable"
  | "secret"
  | "resource"
  | "server"
  | "page"
export type Found = { key: string; kind: Kind; words: string; to: string; more?: string | undefined }

const SHOWN = 14
const OF_JOBS = 8
/** Lists that change seldom. */
const KEPT = { staleTime: 60_000 } as const

export function useFound(wanted: string): Found[] {
  const late = useLate(wanted)
  const jobs = useJobs(wanted, late)
  const named = useNamed()
  const pages = usePages()
  const number = /^#?\d+$/.test(late) ? Number(late.replace("#", "")) : undefined
  const instance: Found[] = number === undefined ? [] : [found("instance", String(number), `/instances/${number}`)]
  if (wanted === "") return [...jobs, ...pages].slice(0, SHOWN)
  return [...instance, ...best([...jobs, ...named, ...pages], wanted)].slice(0, SHOWN)
}

/** What begins with the letters before what only has them; the server found jobs by letters that may be older than these. */
export function best(all: Found[], wanted: string): Found[] {
  const rank = ({ words }: Found) => {
    const at = words.toLowerCase().indexOf(wanted)
    return at === -1 ? undefined : words.length === wanted.length ? 0 : at === 0 ? 1 : 2
  }
  const fits = all.flatMap((one) => {
    const place = rank(one)
    return place === undefined ? [] : [{ one, place }]
  })
  return fits.sort((a, b) => a.place - b.place).map(({ one }) => one)
}

function useJobs(wanted: string, late: string): Found[] {
  const may = useMay()
  const { kept } = useFavourites()
  const query = { name: late, limit: OF_JOBS }
  const enabled = late !== "" && may("job.see")
  const jobs = asked.useQuery(
    "get",
    "/api/v1/jobs",
    { params: { query } },
    { enabled, placeholderData: (before) => before },
  )
  const known = wanted === "" ? kept.map((name) => ({ name, description: null })) : (jobs.data?.items ?? [])
  return known.map(({ name, description }) => ({
    ...found("job", name, `/jobs/${encodeURIComponent(name)}`),
    more: description?.split("\n")[0],
  }))
}

/** Whatever else has a name. What has no page of its own leads to its list. */
function useNamed(): Found[] {
  const may = useMay()
  const of = (permission: string) => ({ ...KEPT, enabled: may(permission) })
  const agents = asked.useQuery("get", "/api/v1/agents", undefined, of("agent.see")).data?.items
  const pools = asked.useQuery("get", "/api/v1/pools", undefined, of("pool.see")).data?.items
  const people = asked.useQuery("get", "/api/v1/people", undefined, of("person.see")).data?.items
  const groups = asked.useQuery("get", "/api/v1/groups", undefined, of("person.see")).data?.items
  const tenants = asked.useQuery("get", "/api/v1/tenants", undefined, of("tenant.see")).data?.items
  const variables = asked.useQuery("get", "/api/v1/variables", undefined, of("variable.see")).data?.items
  const secrets = asked.useQuery("get", "/api/v1/secrets", undefined, of("secret.see")).data?.items
  const resources = asked.useQuery("get", "/api/v1/resources", undefined, of("resource.see")).data?.items
  const cluster = asked.useQuery("get", "/api/v1/cluster", undefined, of("server.see")).data?.servers
  const inList = (kind: Kind, to: string, all: { name: string; folder?: string | null }[] | undefined) =>
    (all ?? []).map((one) => ({ ...found(kind, one.name, to, one.folder ?? ""), more: one.folder ?? undefined }))
  const ofOwn = (kind: Kind, to: string, all: { name: string }[] | undefined) =>
    (all ?? []).map((one) => found(kind, one.name, `${to}/${encodeURIComponent(one.name)}`))
  return [
    ...(agents ?? []).map((one) => found("agent", one.name, `/agents/${one.id}`)),
    ...inList("pool", "/pools", pools),
    ...ofOwn("person", "/people", people),
    ...inList("group", "/groups", groups),
    ...ofOwn("tenant", "/tenants", tenants),
    ...inList("variable", "/variables", variables),
    ...inList("secret", "/secrets", secrets),
    ...inList("resource", "/resources", resources),
    ...inList("server", "/servers", cluster),
  ]
}

function usePages(): Found[] {
  const t = useWords("shell")
  const may = useMay()
  return PLACES.filter((item) => !item.needs || item.needs.some((needed) => may(needed))).map((item) =>
    found("page", t(`pages.${item.words}`), String(item.to)),
  )
}

function found(kind: Kind, words: string, to: string, more = ""): Found {
  return { key: `${kind} ${words} ${to} ${more}`, kind, words, to }
}

function useLate(value: string): string {
  const [late, setLate] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setLate(value), 150)
    return () => clearTimeout(timer)
  }, [value])
  return late
}
