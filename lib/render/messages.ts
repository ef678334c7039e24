import type { Result } from '../protocol/result.ts'

/** What a person is told of a result beside its output: why it did not end by itself. */
export function describeTrouble(result: Result): string[] {
  switch (result.status) {
    case 'denied':
      return [result.verdict?.reason ?? 'Denied by the guard']
    case 'not_started':
      return [result.error?.message ?? 'The command could not be started']
    case 'stopped':
      return [describeStop(result), ...result.notices]
    default:
      return []
  }
}

function describeStop(result: Result): string {
  const after = `after ${formatDuration(result.durationMs)}`
  switch (result.reason) {
    case 'timeout':
      return `Timed out ${after}; the command was stopped`
    case 'inactivity':
      return `Nothing was written for too long; the command was stopped ${after}`
    case 'output_limit':
      return `Too much output; the command was stopped ${after}`
    default:
      return `The command was stopped ${after}`
  }
}

/** `234 ms`, `2.1 s`, `3 min 5 s`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
