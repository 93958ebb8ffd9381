// What the editor itself says, in the chosen language.
import { EditorState, type Extension } from "@codemirror/state"
import type { TFunction } from "i18next"

export function phrases(t: TFunction<"editor">): Extension {
  return EditorState.phrases.of({
    "$ unchanged lines": t("code.unchanged"),
    Completions: t("code.completions"),
    Diagnostics: t("code.faults"),
    "No diagnostics": t("code.no_faults"),
    Find: t("code.find"),
    Replace: t("code.replace_with"),
    next: t("code.next"),
    previous: t("code.previous"),
    all: t("code.all"),
    "match case": t("code.case"),
    regexp: t("code.regexp"),
    "by word": t("code.word"),
    replace: t("code.replace"),
    "replace all": t("code.replace_all"),
    close: t("code.close"),
    "Go to line": t("code.line"),
    go: t("code.go"),
    "current match": t("code.current"),
    "on line": t("code.on_line"),
    "replaced match on line $": t("code.replaced_one"),
    "replaced $ matches": t("code.replaced"),
  })
}
