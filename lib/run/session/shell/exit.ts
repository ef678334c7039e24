import { type Exit, StartError } from '../../../protocol/ports.ts'
import type { Launch } from '../../launch.ts'
import { describeScarcity } from '../../start-failure.ts'
import type { SessionRecord } from './record.ts'

/** How a turn ended: the shell told, it is gone, or it waited for the next one without having told. */
export type TurnEnd =
  | { kind: 'record'; record: SessionRecord }
  | { kind: 'astray' }
  | { kind: 'gone'; code: number | null; signal: string | null }

/** How a run of a session ended, by the end of its turn. `stopped`: nacre ended it. */
export function exitOf(end: TurnEnd, stopped: boolean): Exit & { notices: string[] } {
  const pipeStatus = end.kind === 'record' ? end.record.pipeStatus : null
  const ended = (code: number | null, signal: string | null, notices: string[]) =>
    stopped
      ? { code: null, signal: 'SIGTERM', pipeStatus, notices }
      : { code, signal, pipeStatus, notices }
  if (end.kind === 'gone') return ended(end.code, end.signal, [])
  if (end.kind === 'astray') {
    const notice =
      "The command has kept the session's shell from telling its end: its exit status is not known"
    return ended(125, null, stopped ? [] : [notice])
  }
  const { repaired, started, status } = end.record
  const notices: string[] = []
  if (repaired) {
    notices.push('The session needs the builtins builtin and eval: it has restored them')
  }
  if (!started) {
    notices.push('The command did not run: the session could not open its input or output')
  }
  return ended(started ? status : 125, null, notices)
}

/** How a shell was lost in a turn; for `describeLoss`. */
export function describeEnd(end: Exclude<TurnEnd, { kind: 'record' }>): string {
  if (end.kind === 'astray') return 'could not go on after the command before'
  const { code, signal } = end
  return signal === null ? `ended with exit status ${code}` : `was ended by ${signal}`
}

/** Notices for the first run of the next shell. */
export function describeLoss(how: string, cwd: string): string {
  return `The session's shell ${how}: this ran in a fresh one in ${cwd}, without the variables and functions of before`
}

/** Tells the failure by the status with which the session's program gives up before it is ready. */
export function describeFailedStart(code: number | null, launch: Launch): StartError {
  if (code === 120) return describeScarcity('EMFILE')
  const [name, message] =
    code === 121
      ? ['session_shell_too_old', `A session needs bash 4.4 or newer: ${launch.file} is older`]
      : code === 122
        ? ['cwd_not_accessible', `Working directory may not be entered: ${launch.cwd}`]
        : ['session_failed', `${launch.file} ended before the session was ready (status ${code})`]
  return new StartError(name, message)
}
