// What starts a job, in the chosen language, from the line the server writes about it. What it does not know stays as it is.
import type { TFunction } from "i18next"

const SHAPES = [
  [/^manual$/, "manual"],
  [/^every (?<what>.+)$/, "every"],
  [/^(?<what>\S+) after each end$/, "delay"],
  [/^once at (?<what>.+)$/, "once"],
  [/^after (?<what>\S+) fails$/, "after_failure"],
  [/^after (?<what>\S+) ends$/, "after_end"],
  [/^after (?<what>\S+)$/, "after"],
] as const

export function triggerWords(line: string, t: TFunction<"designer">): string {
  return line
    .split(", ")
    .map((one) => {
      for (const [shape, key] of SHAPES) {
        const found = shape.exec(one)
        if (found) return t(`trigger.${key}`, { what: found.groups?.what ?? "" })
      }
      return one
    })
    .join(t("trigger.and"))
}
