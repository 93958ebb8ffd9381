import i18next from "i18next"
import { expect, test } from "vitest"
import { begin, speak } from "../words"
import { triggerWords } from "./trigger"

const said = (line: string) => triggerWords(line, i18next.getFixedT(null, "designer"))

test("English is as the server writes it", async () => {
  await begin("en")
  for (const line of ["manual", "every 6h", "cron 0 0 4 1 1,4,7,10 ? UTC", "5m after each end, after a fails, after b"])
    expect(said(line)).toBe(line)
})

test("what starts a job is told in Chinese", async () => {
  await speak("zh")
  expect(said("manual")).toBe("手动")
  expect(said("every 6h")).toBe("每 6h")
  expect(said("once at 2026-11-18T00:00:00Z")).toBe("于 2026-11-18T00:00:00Z 运行一次")
  expect(said("cron 0 0 4 ? * MON, after a, after b fails")).toBe("cron 0 0 4 ? * MON，a 成功后，b 失败后")
})
