// Completes keys and values of a job's file from the API's own description, so that it never offers what the server does not
// know. Loaded with the YAML view.
import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete"

type Schema = {
  $ref?: string
  description?: string
  type?: string | string[]
  enum?: string[]
  properties?: Record<string, Schema>
  oneOf?: Schema[]
  items?: Schema
}
export type Described = { components: { schemas: Record<string, Schema> } }

/** The keys around a place in a YAML text, outermost first, by indentation. */
export function pathAt(lines: string[], indent: number): string[] {
  const path: string[] = []
  let within = indent
  for (let at = lines.length - 1; at >= 0 && within > 0; at--) {
    const found = /^(\s*)(?:- )?["']?(\w+)["']?\s*:/.exec(lines[at] ?? "")
    const depth = found?.[1]?.length ?? within
    if (found?.[2] && depth < within) {
      path.unshift(found[2])
      within = depth
    }
  }
  return path
}

/** Everything a schema may be, with its references followed. */
function ways(of: Described, schema: Schema | undefined): Schema[] {
  if (!schema) return []
  const referred = schema.$ref ? of.components.schemas[schema.$ref.split("/").at(-1) ?? ""] : undefined
  const inner = [...(referred ? ways(of, referred) : []), ...(schema.oneOf ?? []).flatMap((one) => ways(of, one))]
  return [schema, ...inner, ...(schema.items ? ways(of, schema.items) : [])]
}

export function schemasAt(of: Described, path: string[]): Schema[] {
  return path.reduce<Schema[]>(
    (here, key) => here.flatMap((one) => ways(of, one.properties?.[key])),
    ways(of, of.components.schemas.JobBody),
  )
}

export function completer(of: Described | undefined) {
  return (context: CompletionContext): CompletionResult | null => {
    if (!of) return null
    const line = context.state.doc.lineAt(context.pos)
    const before = line.text.slice(0, context.pos - line.from)
    const above = context.state.doc.toString().slice(0, line.from).split("\n")
    const value = /^(\s*)["']?(\w+)["']?\s*:\s*(\w*)$/.exec(before)
    if (value) {
      const [, indent = "", key = "", word = ""] = value
      const words = schemasAt(of, [...pathAt(above, indent.length), key]).flatMap((one) => valuesOf(one))
      if (words.length === 0) return null
      return { from: context.pos - word.length, options: [...new Set(words)].map((label) => ({ label, type: "enum" })) }
    }
    const key = /^(\s*)(?:- )?(\w*)$/.exec(before)
    if (!key || (key[2] === "" && !context.explicit)) return null
    const known = schemasAt(of, pathAt(above, key[1]?.length ?? 0)).flatMap((one) =>
      Object.entries(one.properties ?? {}),
    )
    const options = known.map(([label, schema]) => ({
      label,
      apply: `${label}: `,
      type: "property",
      info: said(schema),
    }))
    return { from: context.pos - (key[2]?.length ?? 0), options }
  }

  function said(schema: Schema): string | undefined {
    return of ? ways(of, schema).find((one) => one.description)?.description : undefined
  }
}

function valuesOf(schema: Schema): string[] {
  if (schema.enum) return schema.enum
  return [schema.type].flat().includes("boolean") ? ["true", "false"] : []
}
