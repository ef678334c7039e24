import { unknown, type Text } from '../shell/text.ts'
import type { Call, Follow } from './call.ts'
import { containerCommands } from './containers.ts'
import { fd, find } from './find.ts'
import { inlineCodeCommands } from './inline-code.ts'
import { make } from './make.ts'
import { printingCommands, unfollowedOutput } from './print.ts'
import { readGitScripts, scriptCommands } from './scripts.ts'
import { stateCommands } from './state.ts'
import { wrapperCommands } from './wrappers.ts'
import { parallel, xargs } from './xargs.ts'

export interface CommandTable {
  /** Changes the scope, reads what the command would start; gives what it prints. */
  follow(call: Call): Text
  /** Names that a globbed command name is tried on. */
  readonly names: readonly string[]
}

const otherCommands: Readonly<Record<string, Follow>> = {
  find,
  fd,
  fdfind: fd,
  make,
  gmake: make,
  sem: parallel,
  xargs,
  parallel,
}

export function createCommandTable(): CommandTable {
  // An object of so many names takes the executable ten times as long, in each of its starts.
  const table = new Map<string, Follow>([
    ...Object.entries(printingCommands),
    ...stateCommands,
    ...scriptCommands,
    ...wrapperCommands,
    ...inlineCodeCommands,
    ...containerCommands,
    ...Object.entries(otherCommands),
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
