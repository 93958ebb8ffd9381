// One change on the server: its problem is thrown, everything shown is asked for anew, and what to tell is answered.
import { useQueryClient } from "@tanstack/react-query"
import { useCallback } from "react"
import { done } from "./Act"
import type { Undoable } from "./talk"

type Answer = Promise<{ data?: unknown; error?: unknown }>

export function useChange() {
  const queries = useQueryClient()
  /** `leave` goes elsewhere first, if what is shown is no longer there. */
  return useCallback(
    async (change: Answer, told: string, leave?: () => Promise<void>) => {
      await done(change)
      await leave?.()
      void queries.invalidateQueries()
      return told
    },
    [queries],
  )
}

/** A change that there is a way back from. `show` shows it, or its undoing, at once, and answers how to take that back. */
export function useUndoable() {
  const queries = useQueryClient()
  return useCallback(
    async (
      change: Answer,
      text: string,
      back: () => Answer,
      show?: (undone: boolean) => () => void,
    ): Promise<Undoable> => {
      const carry = async (asked: Answer, hide: (() => void) | undefined) => {
        try {
          await done(asked)
        } catch (error) {
          hide?.()
          throw error
        } finally {
          void queries.invalidateQueries()
        }
      }
      await carry(change, show?.(false))
      return { text, undo: () => carry(back(), show?.(true)) }
    },
    [queries],
  )
}
