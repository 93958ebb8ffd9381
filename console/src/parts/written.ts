// Lists and labels as people write them into one line. Never complains: what cannot be read is left to the server's answer.

/** `a, b c` */
export function wordsIn(line: string): string[] {
  return line.split(/[\s,，]+/).filter((word) => word !== "")
}

/** `team=a, disk=ssd` */
export function labelsIn(line: string): Record<string, string> {
  const pairs = wordsIn(line).map((word) => {
    const [name = "", ...value] = word.split("=")
    return [name, value.join("=")] as const
  })
  return Object.fromEntries(pairs)
}

export function labelsOut(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ")
}

/** A bound, or none if the field is empty. */
export function boundIn(text: string): number | null {
  return text.trim() === "" ? null : Number(text)
}
