import { quoteWord } from '../../../protocol/words.ts'
import type { SessionDialect } from './dialect.ts'
import { suspendedOptions } from './turn.ts'

/** What is off between runs and has to be set again before the next command. */
export interface Suspended {
  /** Letters of `set`. */
  options: string
  /** As `trap -p` prints them; empty where none is set. */
  errTrap: string
  debugTrap: string
}

export const nothingSuspended: Suspended = { options: '', errTrap: '', debugTrap: '' }

/** Those letters of `$-` that are off between runs. */
export function suspendedFlags(flags: string): string {
  return flags.replaceAll(notSuspended, '')
}

const notSuspended = new RegExp(`[^${suspendedOptions}]`, 'g')

/**
 * The text that a session evaluates for a command. All of ours stands on the command's own first
 * line and after its last, so that its lines count from 1.
 */
export function composeText(
  dialect: SessionDialect,
  options: {
    command: string
    /** Variables for this command only. */
    env: Readonly<Record<string, string>>
    /** Names of what the run before was given and this one is not to see. */
    formerEnv: readonly string[]
    closeStdin: boolean
    suspended: Suspended
    /** `$?` of the run before. */
    status: number
  },
): string {
  const { command, env, formerEnv, closeStdin, suspended, status } = options
  const steps = formerEnv.map((name) => dialect.restoreVariable(name))
  for (const name of lentNames(env))
    steps.push(dialect.lendVariable(name, quoteWord(env[name] ?? '')))
  // Not `builtin exec`: its redirections end with it.
  if (closeStdin) steps.push('\\exec <&-')
  // `$_` and, in a place where `set -e` does not mind it, `$?` again.
  if (steps.length > 0) steps.push(`\\builtin : ${dialect.lastArgument}`)
  const restored = restoreSuspended(suspended)
  if (restored !== '') steps.push(restored)
  if (steps.length > 0 && status !== 0) steps.push(`(\\builtin exit ${status}) && \\builtin :`)
  const after = canAskAfter(command, suspended) ? `\n${dialect.ask}` : ''
  // What `set -x` has to say of ours is not for the reader.
  const before = steps.length === 0 ? '' : `{ __nacre_p=1; ${steps.join('; ')}; } 2>/dev/null; `
  return before + command + after
}

/** The names that `composeText` lends, to be given back with the next command. */
export function lentNames(env: Readonly<Record<string, string>>): string[] {
  return Object.keys(env).filter((name) => !fixedVariables.has(name))
}

/** Read-only in every bash, which passes them by in its environment too. */
const fixedVariables = new Set(['BASHOPTS', 'BASH_VERSINFO', 'EUID', 'PPID', 'SHELLOPTS', 'UID'])

function restoreSuspended({ options, errTrap, debugTrap }: Suspended): string {
  if (options === '' && errTrap === '' && debugTrap === '') return ''
  const steps: string[] = []
  if (options !== '') steps.push(`\\builtin set -${options}`)
  // The DEBUG trap last, since it acts on whatever follows.
  for (const trap of [errTrap, debugTrap]) {
    // As one line: `trap -p` prints newlines inside of single quotes only.
    if (trap !== '') steps.push(`\\builtin ${trap.replaceAll('\n', () => `'$'\\n''`)}`)
  }
  return steps.join('; ')
}

/**
 * Whether a line of ours may follow: not where a last backslash or a here-document could swallow it, nor where a DEBUG
 * trap or a trace (`set -x`, `set -v`) would show it.
 */
function canAskAfter(command: string, { options, debugTrap }: Suspended): boolean {
  if (debugTrap !== '' || /[xv]/.test(options)) return false
  // It may not be able to open a file for that line.
  if (/\bulimit\b|\brestricted|\bset\s[^\n;&|]*-[a-zA-Z]*r/.test(command)) return false
  if (/\bDEBUG\b|\bxtrace\b|\bverbose\b|\bset\s[^\n;&|]*[-+][a-zA-Z]*[xv]/.test(command))
    return false
  return !command.endsWith('\\') && areHereDocumentsClosed(command)
}

/** Whether each `<<` has its end line further down; what is no here-document counts as an open one. */
function areHereDocumentsClosed(command: string): boolean {
  let rest = command
  for (;;) {
    const at = rest.indexOf('<<')
    if (at < 0) return true
    rest = rest.slice(at + 2)
    if (rest.startsWith('<')) {
      rest = rest.slice(1)
      continue
    }
    const start = /^(-?)[ \t]*(?:'([^'\n]+)'|"([^"\n]+)"|\\?([\w.]+))/.exec(rest)
    const word = start?.[2] ?? start?.[3] ?? start?.[4]
    if (start === null || word === undefined) return false
    const lines = rest.split('\n').slice(1)
    const isEnd = (line: string) => (start[1] ? line.replace(/^\t+/, '') : line) === word
    if (!lines.some(isEnd)) return false
  }
}
