import { unknown, type Text } from '../shell/text.ts'
import { printingCommands, unfollowedOutput, stateCommands } from './builtins.ts'
import type { Call, Commands } from './call.ts'
import { fd, find, parallel, xargs } from './find.ts'
import { inlineCodeCommands, readGitScripts, scriptCommands } from './scripts.ts'
import { wrapperCommands } from './wrappers.ts'

export interface CommandTable {
  /** Changes the scope, reads what the command would start; gives what it prints. */
  follow(call: Call): Text
  /** Names that a globbed command name is tried on. */
  listNames(): readonly string[]
}

const otherCommands: Commands = new Map([
  ['find', find],
  ['fd', fd],
  ['fdfind', fd],
  ['xargs', xargs],
  ['parallel', parallel],
])

/** Where two hold a name, the later is meant. They are not joined: each start would pay for it. */
const tables: readonly Commands[] = [
  printingCommands,
  stateCommands,
  scriptCommands,
  wrapperCommands,
  inlineCodeCommands,
  otherCommands,
]

export function createCommandTable(): CommandTable {
  return {
    follow(call) {
      if (call.name.startsWith('git')) readGitScripts(call)
      const follow = tables.findLast((table) => table.has(call.name))?.get(call.name)
      return follow ? follow(call) : call.words.length > 0 ? unfollowedOutput(call) : unknown
    },
    listNames() {
      const names = tables.flatMap((table) => [...table.keys()])
      return [...new Set(names), 'dd', 'mkfs', 'shred', 'wipefs', 'rimraf']
    },
  }
}
