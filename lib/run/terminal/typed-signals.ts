import { spawnSync } from 'node:child_process'
import type { Launch } from '../launch.ts'

const signals = ['HUP', 'INT', 'QUIT', 'TERM']

const restore = ['/usr/bin/env', `--default-signal=${signals.join(',')}`] as const

/** Whether `env` can do it (GNU coreutils 8.31). Takes a millisecond. */
export function canRestoreSignals(): boolean {
  const [program, option] = restore
  return spawnSync(program, [option, program], { env: {}, stdio: 'ignore' }).status === 0
}

/**
 * A terminal sends the signals of its keys to the whole foreground group, so also to the bwrap around
 * the command; it would die and take the command along, whatever that does with Ctrl-C. So bwrap
 * ignores them, and the command does not.
 */
export function keepTypedSignals(
  launch: Launch,
  bwrapWords: readonly string[],
  command: readonly string[],
): Launch {
  const script = `trap '' ${signals.join(' ')}; exec "$0" "$@"`
  return {
    ...launch,
    file: '/bin/sh',
    argv0: 'sh',
    args: ['-c', script, launch.file, ...bwrapWords, ...restore, ...command],
  }
}
