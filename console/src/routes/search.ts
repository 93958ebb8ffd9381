// Reads what stands in an address: anybody may have written it.

export function text(value: unknown): string | undefined {
  if (typeof value === "number") return String(value)
  return typeof value === "string" && value !== "" && value.length <= 4000 ? value : undefined
}

export function oneOf<Word extends string>(words: readonly Word[], value: unknown): Word | undefined {
  return words.find((word) => word === value)
}

export function whole(value: unknown): number | undefined {
  const number = Number(value)
  return Number.isSafeInteger(number) && number > 0 ? number : undefined
}
