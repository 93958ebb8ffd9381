// Whether a job runs: enabled, paused, disabled, or held because something of it broke us.

import type { Schemas } from "../api/client"
import { Tag } from "./StateTag"
import { useWords } from "./words"

const TONES = { enabled: "good", paused: "warn", disabled: "calm" } as const

export function ModeTag({ mode }: { mode: Schemas["ModeWord"] }) {
  const t = useWords("parts")
  return (
    <Tag tone={TONES[mode]} hint={t(`mode_hint.${mode}`)}>
      {t(`mode.${mode}`)}
    </Tag>
  )
}
