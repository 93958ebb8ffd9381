import type { MenuItem } from "./item"

export const designerMenu: MenuItem[] = [{ to: "/jobs", words: "jobs", needs: ["job.see"] }]
