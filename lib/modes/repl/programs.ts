import { readdirSync } from 'node:fs'
import { delimiter } from 'node:path'

/** Words that start a command and are no files (bash(1), SHELL BUILTIN COMMANDS and reserved words). */
const shellWords = [
  'alias',
  'bg',
  'cd',
  'command',
  'declare',
  'do',
  'done',
  'echo',
  'eval',
  'exec',
  'exit',
  'export',
  'fg',
  'for',
  'function',
  'history',
  'if',
  'jobs',
  'kill',
  'local',
  'popd',
  'printf',
  'pushd',
  'pwd',
  'read',
  'return',
  'set',
  'shift',
  'source',
  'test',
  'time',
  'trap',
  'type',
  'ulimit',
  'umask',
  'unalias',
  'unset',
  'until',
  'wait',
  'while',
]

/** The names of what can be started, sorted. */
export function listPrograms(path: string): string[] {
  const found = new Set(shellWords)
  for (const directory of path.split(delimiter)) {
    for (const name of readNames(directory)) found.add(name)
  }
  return [...found].sort()
}

function readNames(directory: string): string[] {
  try {
    return directory === '' ? [] : readdirSync(directory)
  } catch {
    // A PATH may name folders that are not there.
    return []
  }
}
