import { constants } from 'node:os'
import { statusOfFailure } from '../protocol/ports.ts'
import type { Result } from '../protocol/result/result.ts'

/** nacre itself failed or was used wrongly. */
export const failureStatus = 125

/** There is no such program or script. */
export const notFoundStatus = 127

/** The exit status of a program that ran one command, as shells, timeout(1) and env(1) have it. */
export function exitStatusOf(result: Result): number {
  switch (result.status) {
    case 'exited':
      return result.exitCode ?? 0
    case 'signaled':
      return signalStatus(result.signal)
    case 'stopped':
      return statusOfStop(result)
    case 'denied':
      return 126
    case 'not_started':
      return result.reason === null ? statusOfFailure(result.error?.code) : statusOfStop(result)
    case 'lost':
      return failureStatus
    case 'running':
      return 0
  }
}

function statusOfStop({ reason, signal }: Result): number {
  if (reason === 'timeout' || reason === 'inactivity') return 124
  return signalStatus(reason === 'cancel' ? 'SIGINT' : (signal ?? 'SIGTERM'))
}

export function signalStatus(signal: string | null): number {
  return 128 + (constants.signals[signal as NodeJS.Signals] ?? 0)
}
