// Which colours a text has, by what it is written in. Knows nothing of where it runs.
import { yaml } from "@codemirror/lang-yaml"
import { StreamLanguage } from "@codemirror/language"
import { javascript } from "@codemirror/legacy-modes/mode/javascript"
import { powerShell } from "@codemirror/legacy-modes/mode/powershell"
import { python } from "@codemirror/legacy-modes/mode/python"
import { shell } from "@codemirror/legacy-modes/mode/shell"
import type { Extension } from "@codemirror/state"

/** As the keys of a job call them. */
export type Language = "yaml" | "sh" | "python" | "node" | "php" | "powershell" | "plain"

export function languageOf(language: Language): Extension {
  switch (language) {
    case "yaml":
      return yaml()
    case "sh":
      return StreamLanguage.define(shell)
    case "python":
      return StreamLanguage.define(python)
    case "node":
      return StreamLanguage.define(javascript)
    case "powershell":
      return StreamLanguage.define(powerShell)
    case "php":
    case "plain":
      return []
  }
}
