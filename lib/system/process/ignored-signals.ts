import { constants } from 'node:os'
import { lookIntoFile } from '../look.ts'

/**
 * SIGPIPE (13) and SIGXFSZ (25), as a mask of Linux: the runtimes ignore them by themselves, so that nobody
 * knows whether the caller does.
 */
const ownSignals = (1n << 12n) | (1n << 24n)

/**
 * The signals that a process ignores, this one since its start, as `nohup`, `trap ''` and a shell's `&` ask for
 * it. Without `/proc` none is known, and none of its own under Node, which takes every signal back at its start.
 */
export function listIgnored(pid: number | 'self' = 'self'): NodeJS.Signals[] {
  const status = lookIntoFile(`/proc/${pid}/status`) ?? ''
  const mask = BigInt(`0x${/^SigIgn:\s*([\da-f]+)$/m.exec(status)?.[1] ?? '0'}`) & ~ownSignals
  // Most callers ignore none, and a start then does without the names of all signals.
  if (mask === 0n) return []
  return (Object.keys(constants.signals) as NodeJS.Signals[]).filter(
    (name) => ((mask >> BigInt(constants.signals[name] - 1)) & 1n) === 1n,
  )
}
