// All sections of the menu and, in one line, all pages in it.
import { adminMenu } from "./admin"
import { designerMenu } from "./designer"
import { monitorMenu } from "./monitor"

export const SECTIONS = [
  ["monitor", monitorMenu],
  ["designer", designerMenu],
  ["admin", adminMenu],
] as const

export const MENU = SECTIONS.flatMap(([, items]) => items)
