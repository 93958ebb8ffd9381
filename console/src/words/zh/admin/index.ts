// Words of Admin, one file per part of it.
import audit from "./audit"
import machines from "./machines"
import people from "./people"
import system from "./system"

export default {
  ...audit,
  ...machines,
  ...people,
  ...system,
  made: { line: "由 {{who}} 创建", by: "创建者", at: "创建时间", actions: "操作" },
  no_bound: "不限",
  change: "修改",
  delete: "删除",
  save: "保存",
}
