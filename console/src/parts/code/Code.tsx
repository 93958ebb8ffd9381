// A place to write code: a YAML file or a script, with colours, search, completion and faults where they are. Loaded only by
// pages that need it. Knows nothing of what is written.
import { autocompletion, type CompletionSource, completionKeymap } from "@codemirror/autocomplete"
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands"
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language"
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint"
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search"
import { Compartment, EditorState } from "@codemirror/state"
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view"
import { classHighlighter } from "@lezer/highlight"
import { useEffect, useRef } from "react"
import { nonce } from "../told"
import { useWords } from "../words"
import { type Language, languageOf } from "./language"
import { phrases } from "./phrases"
import "./code.css"

/** Where something is wrong, counted from 1. */
export type Fault = { line: number; column: number; text: string }

type Props = {
  label: string
  language: Language
  value: string
  change?: (text: string) => void
  faults?: Fault[]
  complete?: CompletionSource
}

export default function Code({ label, language, value, change, faults, complete }: Props) {
  const t = useWords("editor")
  const own = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const changed = useRef(change)
  changed.current = change
  const readOnly = change === undefined
  // biome-ignore lint/correctness/useExhaustiveDependencies: what changes while it stands is told to it below.
  useEffect(() => {
    const completion = new Compartment()
    const made = new EditorView({
      parent: own.current as HTMLElement,
      state: EditorState.create({
        doc: value,
        extensions: [
          looks(label),
          phrases(t),
          EditorState.readOnly.of(readOnly),
          languageOf(language),
          history(),
          drawSelection(),
          highlightActiveLine(),
          indentOnInput(),
          indentUnit.of("  "),
          bracketMatching(),
          highlightSelectionMatches(),
          lintGutter(),
          completion.of(autocompletion(complete ? { override: [complete] } : {})),
          // Escape, then Tab leaves the field: nobody is caught in it.
          keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current?.(update.state.doc.toString())
          }),
        ],
      }),
    })
    view.current = made
    return () => made.destroy()
  }, [language, readOnly])
  useEffect(() => {
    const doc = view.current?.state.doc
    if (doc && doc.toString() !== value) view.current?.dispatch({ changes: { from: 0, to: doc.length, insert: value } })
  }, [value])
  useEffect(() => {
    const state = view.current?.state
    if (state)
      view.current?.dispatch(
        setDiagnostics(
          state,
          (faults ?? []).map((fault) => placed(state, fault)),
        ),
      )
  }, [faults])
  return <div ref={own} className="code" />
}

/** Colours by class, so that our own style sheet says them for both themes. */
export function looks(label: string) {
  return [
    nonce ? EditorView.cspNonce.of(nonce) : [],
    // Whoever has no mouse gets into it, and scrolls it, also where it cannot be written.
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
    EditorView.lineWrapping,
    lineNumbers(),
    syntaxHighlighting(classHighlighter),
  ]
}

function placed(state: EditorState, fault: Fault): Diagnostic {
  const line = state.doc.line(Math.min(Math.max(1, fault.line), state.doc.lines))
  const from = Math.min(line.from + Math.max(0, fault.column - 1), line.to)
  return { from, to: Math.max(from, line.to), severity: "error", message: fault.text }
}
