import type { Request } from '../../../protocol/request/request.ts'
import type { SessionDialect } from './dialect.ts'
import type { SessionRecord } from './record.ts'
import { composeText, lentNames, nothingSuspended, type Suspended, suspendedFlags } from './text.ts'

/** What a session's shell does not keep by itself from one command to the next. */
export interface CarriedState {
  /** `$?` and `$_` of the command before. */
  readonly status: number
  readonly lastArgument: string
  /** The text of the next command, which gives back what is carried. */
  compose(request: Request): string
  /** From the record of the command that was composed last. */
  remember(record: SessionRecord, stopped: boolean): void
  /** Forgets everything, since the next command runs in a new shell. */
  reset(): void
}

export function createCarriedState(dialect: SessionDialect): CarriedState {
  let suspended: Suspended = nothingSuspended
  /** Names of variables that the last command was lent. */
  let lent: string[] = []
  let sent: { suspended: Suspended; lent: string[] } = { suspended, lent }
  let status = 0
  let lastArgument = ''

  return {
    get status() {
      return status
    },
    get lastArgument() {
      return lastArgument
    },
    compose({ command, env, stdin }) {
      sent = { suspended, lent }
      lent = lentNames(env)
      const closeStdin = stdin.kind === 'closed'
      const formerEnv = sent.lent
      return composeText(dialect, { command, env, formerEnv, closeStdin, suspended, status })
    },
    remember(record, stopped) {
      status = record.status
      lastArgument = record.lastArgument
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
    reset() {
      suspended = nothingSuspended
      lent = []
      status = 0
      lastArgument = ''
    },
  }
}
