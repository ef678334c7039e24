import { readFileSync } from 'node:fs'
import { constants } from 'node:os'

/**
 * Those of the signals that this process has ignored since its start, as `nohup` and a shell's `&` ask for
 * it. Without `/proc` none is known, and none under Node, which takes every signal back at its start.
 */
export function listIgnored<Signal extends NodeJS.Signals>(signals: readonly Signal[]): Signal[] {
  const mask = readMask()
  return signals.filter((signal) => ((mask >> BigInt(constants.signals[signal] - 1)) & 1n) === 1n)
}

function readMask(): bigint {
  try {
    const status = readFileSync('/proc/self/status', 'latin1')
    return BigInt(`0x${/^SigIgn:\s*([\da-f]+)$/m.exec(status)?.[1] ?? '0'}`)
  } catch {
    return 0n
  }
}
