// What somebody signed in with, as people call it. Knows the usual browsers; anything else is called by its first word.
const BROWSERS = [
  [/\bEdg(?:e|A|iOS)?\/(\d+)/, "Edge"],
  [/\bOPR\/(\d+)/, "Opera"],
  [/\b(?:Firefox|FxiOS)\/(\d+)/, "Firefox"],
  [/\b(?:HeadlessChrome|Chrome|CriOS)\/(\d+)/, "Chrome"],
  [/\bVersion\/(\d+).*Safari\//, "Safari"],
] as const
const SYSTEMS = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"],
] as const

export function programOf(said: string): string {
  if (!said.startsWith("Mozilla/")) return said.length > 40 ? (said.split(" ")[0] ?? said) : said
  const system = SYSTEMS.find(([has]) => has.test(said))?.[1]
  for (const [has, name] of BROWSERS) {
    const found = has.exec(said)
    if (found) return [`${name} ${found[1]}`, system].filter(Boolean).join(", ")
  }
  return system ?? said
}
