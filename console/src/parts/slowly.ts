// For what no event tells of: it is asked for anew now and then, so that nobody has to reload.
export const SLOWLY = { refetchInterval: 15_000 } as const
