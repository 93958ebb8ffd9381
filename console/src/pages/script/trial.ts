// Takes the job of a trial away again when its instance has ended: what it printed stays, the list of jobs is not filled with
// trials. Goes on when the page is left; a trial that is begun meanwhile is waited for, too.
import { api, tenantNow } from "../../api/client"
import { isOpen } from "../../parts/StateTag"

const LOOK_MS = 1500
/** The newest trial of each job: an older one leaves the job to it. */
const newest = new Map<string, number>()

export async function takeAway(job: string, instance: number): Promise<void> {
  const tenant = tenantNow()
  const key = `${tenant ?? ""} ${job}`
  newest.set(key, instance)
  for (;;) {
    await new Promise((done) => setTimeout(done, LOOK_MS))
    // Somebody looks at another tenant: requests are about that one now.
    if (tenantNow() !== tenant) continue
    const { data, error } = await api.GET("/api/v1/instances/{id}", { params: { path: { id: instance } } })
    if (newest.get(key) !== instance || error?.status === 404 || error?.status === 401) return
    if (data && !isOpen(data.state)) break
  }
  newest.delete(key)
  await api.DELETE("/api/v1/jobs/{name}", { params: { path: { name: job } } })
}
