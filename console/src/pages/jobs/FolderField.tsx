// The filter by folder: typed, or chosen from the folders there are; and the way up from a folder that is chosen.
import { useId, useState } from "react"
import { asked } from "../../api/client"
import { LateInput } from "../../parts/LateInput"
import { To } from "../../parts/To"
import { useWords } from "../../parts/words"
import { foldersOf, wayTo } from "./folders"

export function FolderField({ folder, change }: { folder: string | undefined; change: (folder: string) => void }) {
  const t = useWords("designer")
  const id = useId()
  const [wanted, want] = useState(false)
  const { data } = asked.useQuery("get", "/api/v1/folders", undefined, {
    enabled: wanted,
    staleTime: 60_000,
    refetchOnWindowFocus: false,
  })
  return (
    <label>
      {t("jobs.folder")}
      <LateInput value={folder ?? ""} list={id} change={change} onFocus={() => want(true)} />
      <datalist id={id}>
        {foldersOf(data?.items.map((one) => one.folder) ?? []).map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </label>
  )
}

export function WayUp({ folder }: { folder: string }) {
  const t = useWords("designer")
  return (
    <nav className="way-up" aria-label={t("jobs.folder")}>
      <To to="/jobs">{t("jobs.all_folders")}</To>
      {wayTo(folder).map((one) => (
        <span key={one.path}>
          {" / "}
          {one.path === folder ? (
            <strong>{one.name}</strong>
          ) : (
            <To to="/jobs" search={{ folder: one.path }}>
              {one.name}
            </To>
          )}
        </span>
      ))}
    </nav>
  )
}
