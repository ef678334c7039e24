import { constants } from 'node:os'
import { lookIntoFile } from '../look.ts'

/** What the runtimes ignore by themselves, so that nobody knows whether the caller does. */
const ownSignals: readonly string[] = ['SIGPIPE', 'SIGXFSZ']

/**
 * The signals that this process has ignored since its start, as `nohup`, `trap ''` and a shell's `&` ask for
 * it. Without `/proc` none is known, and none under Node, which takes every signal back at its start.
 */
export function listIgnored(): NodeJS.Signals[] {
  const status = lookIntoFile('/proc/self/status') ?? ''
  const mask = BigInt(`0x${/^SigIgn:\s*([\da-f]+)$/m.exec(status)?.[1] ?? '0'}`)
  const isIgnored = (number: number) => ((mask >> BigInt(number - 1)) & 1n) === 1n
  return (Object.keys(constants.signals) as NodeJS.Signals[]).filter(
    (name) => !ownSignals.includes(name) && isIgnored(constants.signals[name]),
  )
}
