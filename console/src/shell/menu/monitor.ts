import type { MenuItem } from "./item"

export const monitorMenu: MenuItem[] = [
  { to: "/", words: "home" },
  { to: "/dashboard", words: "dashboard", needs: ["instance.see"] },
  { to: "/instances", words: "instances", needs: ["instance.see"] },
  { to: "/dead-letters", words: "dead", needs: ["instance.see"] },
]
