import { realpathSync } from 'node:fs'
import { relative } from 'node:path'

/**
 * What the file of a workspace nobody trusted may say of a key: each function gives the value where
 * it tightens what holds without it (`current`; undefined: the default), else undefined.
 */
export type Restrict = (value: unknown, current: unknown, workspace: string) => unknown

/** For a folder: the workspace itself or one below it, wherever links lead. */
export const staysBelow: Restrict = (value, _, workspace) =>
  isBelow(String(value), workspace) ? value : undefined

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

/** Whether a folder is another one or below it. Links lead to what they name. */
export function isBelow(folder: string, other: string): boolean {
  const way = relative(realPath(other), realPath(folder))
  return way !== '..' && !way.startsWith('../')
}

/** A folder that is not there is nobody's: it stays as it is written. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
