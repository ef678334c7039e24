/**
 * What the file of a workspace nobody trusted may say of a key: each function gives the value where
 * it tightens what holds without it (`current`; undefined: the default), else undefined.
 */
export type Restrict = (value: unknown, current: unknown) => unknown

/** For what is on by default. */
export const onlySwitchOn: Restrict = (value) => (value === true ? value : undefined)

/** For values in an order from loose, the default, to strict. */
export function atLeastAsStrict(order: readonly string[]): Restrict {
  const rank = (value: unknown): number => Math.max(0, order.indexOf(String(value)))
  return (value, current) => (rank(value) >= rank(current) ? value : undefined)
}

/** For what is off by default: it may be switched on, and left as it is. */
export const onlyAdd: Restrict = (value, current) =>
  value !== false || !current ? value : undefined
