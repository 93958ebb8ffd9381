// The roles that are there from the beginning, which have words of their own.
const BUILT_IN = ["viewer", "operator", "developer", "tenant_admin", "platform_admin"] as const

export function builtIn(name: string): (typeof BUILT_IN)[number] | undefined {
  return BUILT_IN.find((one) => one === name)
}
