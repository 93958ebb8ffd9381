// Marks a job as one of somebody's favourites.

import { useFavourites } from "../../parts/favourites"
import { useWords } from "../../parts/words"

export function Star({ job }: { job: string }) {
  const t = useWords("designer")
  const { has, toggle } = useFavourites()
  return (
    <button
      type="button"
      className="star"
      aria-pressed={has(job)}
      aria-label={t("jobs.star", { job })}
      title={t("jobs.star", { job })}
      onClick={() => toggle(job)}
    >
      {has(job) ? "★" : "☆"}
    </button>
  )
}
