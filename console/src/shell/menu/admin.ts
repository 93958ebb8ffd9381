import type { MenuItem } from "./item"

export const adminMenu: MenuItem[] = [
  { to: "/agents", words: "agents", needs: ["agent.see"], also: ["/xxl-tokens"] },
  { to: "/pools", words: "pools", needs: ["pool.see"], also: ["/resources"] },
  { to: "/variables", words: "variables", needs: ["variable.see"], also: ["/secrets"] },
  { to: "/people", words: "people", needs: ["person.see"], also: ["/groups"] },
  { to: "/grants", words: "rights", needs: ["member.see"], also: ["/roles"] },
  { to: "/tenants", words: "tenants", needs: ["tenant.see"] },
  { to: "/servers", words: "servers", needs: ["server.see"] },
  { to: "/audit", words: "audit", needs: ["audit.see"] },
  { to: "/settings", words: "settings", needs: ["system.see"] },
  { to: "/about", words: "about" },
]
