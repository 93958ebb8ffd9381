// Every page that can be found by its name: those of the menu, and those one finds below them.
import { MENU } from "./menu"
import type { MenuItem } from "./menu/item"

const BELOW: MenuItem[] = [
  { to: "/new-job", words: "new_job", needs: ["job.edit"] },
  { to: "/import-jobs", words: "import", needs: ["job.edit"] },
  { to: "/xxl-tokens", words: "xxl", needs: ["agent.see"] },
  { to: "/resources", words: "resources", needs: ["resource.see"] },
  { to: "/secrets", words: "secrets", needs: ["secret.see"] },
  { to: "/groups", words: "groups", needs: ["person.see"] },
  { to: "/roles", words: "roles" },
  { to: "/account", words: "account" },
]

export const PLACES: MenuItem[] = [...MENU, ...BELOW]
