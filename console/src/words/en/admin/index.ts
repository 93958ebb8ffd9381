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
  made: { line: "by {{who}}", by: "Made by", at: "Made", actions: "Actions" },
  no_bound: "No bound",
  change: "Change",
  delete: "Delete",
  save: "Save",
}
