import type { Call, Follow } from '../shell/interpreter.ts'
import { unknown } from '../shell/marked-text.ts'
import { find } from './find.ts'
import { readGitScripts } from './git-scripts.ts'
import { inlineCodeCommands } from './inline-code.ts'
import { printingCommands, unfollowedOutput } from './print.ts'
import { scheduledCommands } from './scheduled.ts'
import { scriptCommands } from './shells.ts'
import { startOther } from './start.ts'
import { stateCommands } from './state.ts'
import { wrappers } from './wrappers.ts'
import { parallel, xargs } from './xargs.ts'

export interface CommandTable {
  /** Changes the scope, reads what the command would start; gives what it prints. */
  follow(call: Call): string
  /** Names that a globbed command name is tried on. */
  readonly names: readonly string[]
}

export function createCommandTable(): CommandTable {
  const table = new Map<string, Follow>([
    ...Object.entries(printingCommands),
    ...Object.entries(stateCommands),
    ...Object.entries(scriptCommands),
    ...Object.entries(wrappers).map(([name, wrapper]): [string, Follow] => [
      name,
      startOther(wrapper),
    ]),
    ...Object.entries(inlineCodeCommands),
    ...Object.entries(scheduledCommands),
    ['find', find],
    ['xargs', xargs],
    ['parallel', parallel],
  ])
  return {
    follow(call) {
      if (call.name.startsWith('git')) readGitScripts(call)
      const follow = table.get(call.name)
      return follow ? follow(call) : call.words.length > 0 ? unfollowedOutput(call) : unknown
    },
    names: [...table.keys(), 'dd', 'mkfs', 'shred', 'wipefs', 'rimraf'],
  }
}
