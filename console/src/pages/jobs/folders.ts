// Folders as jobs name them: `billing/nightly` lies in `billing`.

/** Every folder that jobs are in, and those above them. */
export function foldersOf(named: string[]): string[] {
  return [...new Set(named.filter(Boolean).flatMap((folder) => wayTo(folder).map((one) => one.path)))].sort()
}

/** From the outermost to the folder itself. */
export function wayTo(folder: string): { name: string; path: string }[] {
  const names = folder.split("/").filter(Boolean)
  return names.map((name, at) => ({ name, path: names.slice(0, at + 1).join("/") }))
}
