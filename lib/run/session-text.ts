import { quoteWord } from './quote.ts'
import { suspendedOptions } from './session-program.ts'

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
  return flags.replaceAll(new RegExp(`[^${suspendedOptions}]`, 'g'), '')
}

/**
 * The text that a session evaluates for a command. All of ours stands on the command's own first
 * line and after its last, so that its lines count from 1.
 */
export function composeText(options: {
  command: string
  env: Readonly<Record<string, string>>
  closeStdin: boolean
  suspended: Suspended
  /** `$?` of the run before. */
  status: number
}): string {
  const { command, env, closeStdin, suspended, status } = options
  const before = (closeStdin ? '\\builtin exec <&-; ' : '') + restore(suspended, status)
  const after = canAskAfter(command, suspended) ? ask(command) : ''
  const text = before + command + after
  const assignments = Object.entries(env)
    .filter(([name]) => !fixedVariables.has(name))
    .map(([name, value]) => `${name}=${quoteWord(value)} `)
  return assignments.length === 0
    ? text
    : `${assignments.join('')}\\builtin eval ${quoteWord(text)}`
}

/** Read-only in every bash, which passes them by in its environment too. */
const fixedVariables = new Set(['BASHOPTS', 'BASH_VERSINFO', 'EUID', 'PPID', 'SHELLOPTS', 'UID'])

function restore({ options, errTrap, debugTrap }: Suspended, status: number): string {
  if (options === '' && errTrap === '' && debugTrap === '') return ''
  const steps = ['__nacre_p=1']
  if (options !== '') steps.push(`\\builtin set -${options}`)
  // The DEBUG trap last, since it acts on whatever follows.
  for (const trap of [errTrap, debugTrap]) {
    // As one line: `trap -p` prints newlines inside of single quotes only.
    if (trap !== '') steps.push(`\\builtin ${trap.replaceAll('\n', `'$'\\n''`)}`)
  }
  // `$?` again, in a place where neither `set -e` nor ERR minds it.
  if (status !== 0) steps.push(`(\\builtin exit ${status}) && \\builtin :`)
  return `{ ${steps.join('; ')}; } 2>/dev/null; `
}

/** Asks for `$?` and `PIPESTATUS` while they are still the command's own: `eval` overwrites them. */
function ask(command: string): string {
  // A last backslash would join our line to the command's.
  const newline = command.endsWith('\\') ? '\n\n' : '\n'
  return `${newline}\\__nacre_end "$_" "$?" "\${PIPESTATUS[@]}"`
}

/**
 * Whether a line of ours may follow: not where a here-document could swallow it, nor where a DEBUG
 * trap or a trace (`set -x`, `set -v`) would show it.
 */
function canAskAfter(command: string, { options, debugTrap }: Suspended): boolean {
  if (debugTrap !== '' || /[xv]/.test(options)) return false
  if (/\bDEBUG\b|\bxtrace\b|\bverbose\b|\bset\s[^\n;&|]*[-+][a-zA-Z]*[xv]/.test(command))
    return false
  return areHereDocumentsClosed(command)
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
