import { isBelow } from '../system/look.ts'

/**
 * What the file of a workspace nobody trusted may say of a key: each function gives the value where
 * it tightens what holds without it (`current`; undefined: the default), else undefined.
 */
export type Restrict = (value: unknown, current: unknown, workspace: string) => unknown

/** A folder has to be the workspace or one below it, wherever links lead. */
export const staysBelow: Restrict = (value, _, workspace) =>
  isBelow(String(value), workspace) ? value : undefined

/** Each value adds to what is hidden, denied or asked. */
export const onlyTightens: Restrict = (value) => value

/** Something that is on by default may be switched on only. */
export const onlySwitchOn: Restrict = (value) => (value === true ? value : undefined)

/** Of values in an order from loose, the default, to strict, one that is at least as strict is allowed. */
export function atLeastAsStrict(order: readonly string[]): Restrict {
  const rank = (value: unknown): number => Math.max(0, order.indexOf(String(value)))
  return (value, current) => (rank(value) >= rank(current) ? value : undefined)
}

/** Something that is off by default may be switched on, and be left as it is. */
export const onlyAdd: Restrict = (value, current) =>
  value !== false || !current ? value : undefined
