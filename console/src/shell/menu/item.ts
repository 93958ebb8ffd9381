// What an entry of the menu is.
import type { LinkProps } from "@tanstack/react-router"
import type { Words } from "../../words"

export type MenuItem = {
  to: LinkProps["to"]
  words: keyof Words["shell"]["pages"]
  /** Other addresses that belong to it. */
  also?: string[]
  /** Only for whoever holds one of these; for everybody if absent. */
  needs?: string[]
}
