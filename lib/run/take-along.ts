import { constants } from 'node:os'
import { basename } from 'node:path'
import { chooseFirstWord, type Launch } from './launch.ts'

/**
 * What spawn takes from a process, a shell that becomes it leaves to it: a closed descriptor 0, and signals
 * that are ignored. A bash hands on the functions of its environment too, which other shells drop; with `-p`
 * it takes none of them for itself and reads no BASH_ENV. Where its own options are handed on as well, `-p` would
 * be one of them.
 */
export function takeAlong(
  launch: Launch,
  { closesInput, ignored }: { closesInput: boolean; ignored: readonly NodeJS.Signals[] },
): Launch {
  if (!closesInput && ignored.length === 0) return launch
  const numbers = ignored.map((signal) => constants.signals[signal])
  const trap = numbers.length === 0 ? '' : `trap '' ${numbers.join(' ')}; `
  const text = `${trap}exec "$0" "$@"${closesInput ? ' <&-' : ''}`
  const words = ['-c', text, chooseFirstWord(launch), ...launch.args]
  const handsOnOptions = ['SHELLOPTS', 'BASHOPTS'].some((name) => name in launch.env)
  return basename(launch.file) === 'bash' && !handsOnOptions
    ? { ...launch, args: ['-p', ...words] }
    : { ...launch, file: '/bin/sh', argv0: 'sh', args: words }
}
