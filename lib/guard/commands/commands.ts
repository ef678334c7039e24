import type { Text } from '../shell/text.ts'
import { printingCommands, stateCommands, unfollowedOutput } from './builtins.ts'
import type { Call, Commands } from './call.ts'
import { fd, find, xargs } from './find.ts'
import { inlineCodeCommands, readGitScripts, scriptCommands } from './scripts.ts'
import { wrapperCommands } from './wrappers.ts'

/** Where two hold a name, the later is meant. They are not joined: each start would pay for it. */
const tables: readonly Commands[] = [
  printingCommands,
  stateCommands,
  scriptCommands,
  wrapperCommands,
  inlineCodeCommands,
  new Map([
    ['find', find],
    ['fd', fd],
    ['fdfind', fd],
    ['xargs', xargs],
  ]),
]

/** Changes the scope, reads what the command would start; gives what it prints. */
export function followCommand(call: Call): Text {
  if (call.name.startsWith('git')) readGitScripts(call)
  const follow = tables.findLast((table) => table.has(call.name))?.get(call.name)
  return follow ? follow(call) : unfollowedOutput(call)
}
