import { diskDestroy } from './disk-destroy.ts'
import { gitAddBlind, gitPushForce } from './git.ts'
import { rmCritical } from './rm-critical.ts'
import type { Rule } from './rule.ts'
import { systemChange } from './system.ts'

/** In the order in which they are asked; of two equally strict verdicts the first one stays. */
export const builtInRules: readonly Rule[] = [
  rmCritical,
  diskDestroy,
  gitPushForce,
  gitAddBlind,
  systemChange,
]

/** What a rule of the user may lift; `unreadable` is what cannot be read to its end. */
export const ruleNames: readonly string[] = [
  ...builtInRules.map(({ name }) => name),
  'suggest-tool',
  'unreadable',
]
