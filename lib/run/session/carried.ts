import type { Request } from '../../protocol/request/request.ts'
import { quoteWord } from '../../protocol/words.ts'
import { ask, lastArgument, lendVariable, restoreVariable, suspendedOptions } from './bash.ts'
import type { SessionRecord } from './record.ts'

/** What a session's shell does not keep by itself from one command to the next. */
interface CarriedState {
  /** `$?` and `$_` of the command before. */
  readonly status: number
  readonly lastArgument: string
  /** The text of the next command, which gives back what is carried; it moves to a directory first. */
  compose(request: Request, directory: string | null): string
  /** From the record of the command that was composed last. */
  remember(record: SessionRecord, stopped: boolean): void
}

export function createCarriedState(): CarriedState {
  let suspended: Suspended = nothingSuspended
  /** Names of variables that the last command was lent. */
  let lent: string[] = []
  let sent: { suspended: Suspended; lent: string[] } = { suspended, lent }
  let status = 0
  let argument = ''

  return {
    get status() {
      return status
    },
    get lastArgument() {
      return argument
    },
    compose({ command, env }, directory) {
      sent = { suspended, lent }
      lent = Object.keys(env)
      const formerEnv = sent.lent
      return composeText({ command, env, formerEnv, directory, suspended, status })
    },
    remember(record, stopped) {
      status = record.status
      argument = record.lastArgument
      const wasSent = sent.suspended !== nothingSuspended || sent.lent.length + lent.length > 0
      if (wasSent && !record.restored) {
        // Our part was not run either (a syntax error in the first line): the next command gets it.
        lent = sent.lent
        return
      }
      // A stop takes the place of the DEBUG trap.
      const debugTrap = stopped ? sent.suspended.debugTrap : record.debugTrap
      const { errTrap } = record
      const options = suspendedFlags(record.flags)
      const plain = options === '' && errTrap === '' && debugTrap === ''
      suspended = plain ? nothingSuspended : { options, errTrap, debugTrap }
    },
  }
}

/** What is off between runs and has to be set again before the next command. */
interface Suspended {
  /** Letters of `set`. */
  options: string
  /** As `trap -p` prints them; empty where none is set. */
  errTrap: string
  debugTrap: string
}

const nothingSuspended: Suspended = { options: '', errTrap: '', debugTrap: '' }

/** Those letters of `$-` that are off between runs. */
function suspendedFlags(flags: string): string {
  return flags.replaceAll(notSuspended, '')
}

const notSuspended = new RegExp(`[^${suspendedOptions}]`, 'g')

/**
 * The text that a session evaluates for a command. All of ours stands on the command's own first
 * line and after its last, so that its lines count from 1.
 */
function composeText(options: {
  command: string
  /** Variables for this command only. */
  env: Readonly<Record<string, string>>
  /** Names of what the run before was given and this one is not to see. */
  formerEnv: readonly string[]
  /** Where the command is to begin; null: where the shell stands. */
  directory: string | null
  suspended: Suspended
  /** `$?` of the run before. */
  status: number
}): string {
  const { command, env, formerEnv, directory, suspended, status } = options
  const steps = formerEnv.map(restoreVariable)
  // It has been looked at: a shell that is refused it now runs nothing elsewhere.
  if (directory !== null)
    steps.push(`\\builtin cd -- ${quoteWord(directory)} || \\builtin exit 122`)
  for (const [name, value] of Object.entries(env)) steps.push(lendVariable(name, quoteWord(value)))
  // `$_` and, in a place where `set -e` does not mind it, `$?` again.
  if (steps.length > 0) steps.push(`\\builtin : ${lastArgument}`)
  const restored = restoreSuspended(suspended)
  if (restored !== '') steps.push(restored)
  if (steps.length > 0 && status !== 0) steps.push(`(\\builtin exit ${status}) && \\builtin :`)
  const after = canAskAfter(command, suspended) ? `\n${ask}` : ''
  // What `set -x` has to say of ours is not for the reader.
  const before = steps.length === 0 ? '' : `{ __nacre_p=1; ${steps.join('; ')}; } 2>/dev/null; `
  return before + command + after
}

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
 * Whether a line of ours may follow: not if a last backslash or a here-document could swallow it, nor if a DEBUG
 * trap or a trace (`set -x`, `set -v`) would show it.
 */
function canAskAfter(command: string, { options, debugTrap }: Suspended): boolean {
  if (debugTrap !== '' || /[xv]/.test(options)) return false
  // It may not be able to open a file for that line.
  if (/\bulimit\b|\brestricted|\bset\s[^\n;&|]*-[a-zA-Z]*r/.test(command)) return false
  if (/\bDEBUG\b|\bxtrace\b|\bverbose\b|\bset\s[^\n;&|]*[-+][a-zA-Z]*[xv]/.test(command))
    return false
  return !command.endsWith('\\') && !/(?<!<)<<(?!<)/.test(command)
}
