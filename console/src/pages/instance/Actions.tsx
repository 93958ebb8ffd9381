// What can be done to an instance now.
import { useQueryClient } from "@tanstack/react-query"
import { api } from "../../api/client"
import { Act, done } from "../../parts/Act"
import { isOpen } from "../../parts/StateTag"
import { useWords } from "../../parts/words"
import type { Instance } from "../instances/InstanceRows"

export function Actions({ instance }: { instance: Instance }) {
  const t = useWords("monitor")
  const queries = useQueryClient()
  const params = { path: { id: instance.id } }
  const stop = async () => {
    await done(api.POST("/api/v1/instances/{id}/stop", { params }))
    await queries.invalidateQueries()
    return t("instance.stopped")
  }
  const rerun = async () => {
    await done(api.POST("/api/v1/instances/{id}/rerun", { params }))
    await queries.invalidateQueries()
    return t("instance.rerun_done")
  }
  const resolve = async (verdict: "succeeded" | "lost") => {
    await done(api.POST("/api/v1/instances/{id}/resolve", { params, body: { verdict } }))
    await queries.invalidateQueries()
    return t(`instance.resolve.${verdict}_done`)
  }
  if (instance.uncertain) {
    return (["succeeded", "lost"] as const).map((verdict) => (
      <Act
        key={verdict}
        needs="instance.run"
        danger={verdict === "lost"}
        ask={{
          title: t(`instance.resolve.${verdict}_ask`),
          text: t(`instance.resolve.${verdict}_hint`),
          yes: t(`instance.resolve.${verdict}`),
          danger: verdict === "lost",
        }}
        act={() => resolve(verdict)}
      >
        {t(`instance.resolve.${verdict}`)}
      </Act>
    ))
  }
  if (isOpen(instance.state)) {
    const ask = { title: t("instance.stop_ask"), text: t("instance.stop_hint"), yes: t("instance.stop"), danger: true }
    return (
      <Act danger needs="instance.run" ask={ask} act={stop} disabled={instance.stopping != null}>
        {t("instance.stop")}
      </Act>
    )
  }
  const ask = { title: t("instance.rerun_ask"), text: t("instance.rerun_hint"), yes: t("instance.rerun") }
  return (
    <Act needs="instance.run" ask={ask} act={rerun}>
      {t("instance.rerun")}
    </Act>
  )
}
