// Two texts beside each other in one column: what goes is struck out, what comes is marked.
import { unifiedMergeView } from "@codemirror/merge"
import { EditorState } from "@codemirror/state"
import { EditorView } from "@codemirror/view"
import { useEffect, useRef } from "react"
import { useWords } from "../words"
import { looks } from "./Code"
import { type Language, languageOf } from "./language"
import { phrases } from "./phrases"

type Props = { label: string; language: Language; before: string; after: string }

export default function Compare({ label, language, before, after }: Props) {
  const own = useRef<HTMLDivElement>(null)
  const t = useWords("editor")
  useEffect(() => {
    const made = new EditorView({
      parent: own.current as HTMLElement,
      state: EditorState.create({
        doc: after,
        extensions: [
          looks(label),
          phrases(t),
          EditorState.readOnly.of(true),
          languageOf(language),
          unifiedMergeView({
            original: before,
            mergeControls: false,
            highlightChanges: true,
            collapseUnchanged: { margin: 3, minSize: 6 },
          }),
        ],
      }),
    })
    return () => made.destroy()
  }, [label, language, before, after, t])
  return <div ref={own} className="code code-compare" />
}
