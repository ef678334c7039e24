import type { Exit } from '../../../protocol/ports.ts'
import type { TurnEnd } from './shell.ts'

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
