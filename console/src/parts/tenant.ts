// The tenant that is looked at: part of the address when it is not the account's own, so that a link leads where it was
// copied from.
import { useSearch } from "@tanstack/react-router"

export function useTenant(): string | undefined {
  return (useSearch({ strict: false }) as { tenant?: string }).tenant
}
