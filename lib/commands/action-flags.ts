import { wrongUsage } from '../protocol/errors.ts'
import { type Flag, option } from '../protocol/request/flag.ts'
import type { Fields } from '../protocol/shape/shape.ts'
import { toSnakeCase } from '../protocol/wire.ts'
import { lowerFirst } from '../protocol/words.ts'

/** An option that only some actions of a command have: `job read --tail`. */
export interface ActionFlag extends Flag {
  actions: readonly string[]
}

/** Options of these actions, which their descriptions name. */
export function flagsOf(actions: readonly string[], flags: readonly Flag[]): ActionFlag[] {
  return flags.map((flag) => ({
    ...flag,
    actions,
    description: `${actions.join(', ')}: ${lowerFirst(flag.description)}`,
  }))
}

/** The fields of a query as options. */
export function fieldFlags(fields: Fields): Flag[] {
  return Object.entries(fields).map(([name, field]) =>
    option(toSnakeCase(name).replaceAll('_', '-'), field, field.description ?? ''),
  )
}

/** Throws `MisuseError` where an option was given that this action would pass over. */
export function checkActionFlags(
  command: string,
  action: string,
  flags: readonly (Flag | ActionFlag)[],
  options: Readonly<Record<string, unknown>>,
): void {
  for (const flag of flags) {
    if (!('actions' in flag) || options[flag.name] === undefined) continue
    if (flag.actions.includes(action)) continue
    const others = flag.actions.map((other) => `\`${command} ${other}\``).join(' and ')
    throw wrongUsage(
      `\`--${flag.name}\` is an option of ${others}, not of \`${command} ${action}\`; leave it out`,
    )
  }
}
