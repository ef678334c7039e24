import { spawnSync } from 'node:child_process'
import type { InputKind } from '../../protocol/result/result.ts'

/**
 * How a terminal takes input now, asked of stty(1), since Node has no tcgetattr(3). Takes some
 * milliseconds. A terminal of which stty tells nothing counts as one that takes lines.
 */
export function readInputMode(path: string): InputKind {
  const { stdout } = spawnSync('stty', ['-a', '-F', path], {
    encoding: 'utf8',
    env: { LC_ALL: 'C', PATH: '/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin' },
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 2000,
  })
  return parseInputMode(stdout ?? '')
}

/** Reads the answer of `stty -a`: `-` before a mode says that it is off. */
export function parseInputMode(text: string): InputKind {
  const modes = new Set(text.split(/[\s;]+/))
  if (modes.has('-icanon')) return 'raw'
  return modes.has('-echo') ? 'password' : 'line'
}
