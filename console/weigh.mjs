// Weighs the bundle as a browser loads it and fails over the limits: the shell alone, and the shell with any one page. A page is
// weighed with everything it loads later by itself.
import { readFileSync } from "node:fs"
import { gzipSync } from "node:zlib"

const SHELL_MAX = 230_000
const PAGE_MAX = 450_000
const manifest = JSON.parse(readFileSync("dist/.vite/manifest.json", "utf8"))
const weights = new Map()

const weigh = (file) => {
  if (!weights.has(file)) weights.set(file, gzipSync(readFileSync(`dist/${file}`), { level: 9 }).length)
  return weights.get(file)
}

/** Every file that is loaded with an entry, itself included. */
const loaded = (name, files = new Set(), seen = new Set()) => {
  if (seen.has(name)) return files
  seen.add(name)
  const chunk = manifest[name]
  files.add(chunk.file)
  for (const css of chunk.css ?? []) files.add(css)
  for (const other of chunk.imports ?? []) loaded(other, files, seen)
  return files
}

/** Every file that is loaded with a page sooner or later: what its chunks fetch, too, but for other pages. */
const lateToo = (name, files = new Set(), seen = new Set()) => {
  const own = new Set()
  loaded(name, files, own)
  for (const chunk of own) {
    for (const late of manifest[chunk].dynamicImports ?? []) {
      if (seen.has(late) || inShell.has(chunk) || late.startsWith("src/pages/")) continue
      seen.add(late)
      lateToo(late, files, seen)
    }
  }
  return files
}

const total = (files) => [...files].reduce((sum, file) => sum + weigh(file), 0)
const kb = (bytes) => `${(bytes / 1000).toFixed(1)} kB`
const names = Object.keys(manifest)
const entry = names.find((name) => manifest[name].isEntry)
const inShell = new Set()
const begun = loaded(entry, new Set(), inShell)
// One language is loaded with the shell, with those of problems and reasons; the heavier one counts.
const LANGUAGES = [["src/words/en/index.ts"], names.filter((name) => /words\/zh\//.test(name))]
const spoken = LANGUAGES.map((of) => of.reduce((files, name) => loaded(name, files), new Set()))
const shell = spoken.map((words) => new Set([...begun, ...words])).sort((a, b) => total(b) - total(a))[0]
let over = false
const judge = (what, bytes, max) => {
  const bad = bytes > max
  over ||= bad
  console.log(`${bad ? "TOO HEAVY " : ""}${what}: ${kb(bytes)} gzipped of at most ${kb(max)}`)
}

judge("shell", total(shell), SHELL_MAX)
for (const name of names.filter((one) => one.startsWith("src/pages/") && manifest[one].isDynamicEntry)) {
  judge(`shell + ${name.replace("src/pages/", "")}`, total(new Set([...shell, ...lateToo(name)])), PAGE_MAX)
}
process.exit(over ? 1 : 0)
