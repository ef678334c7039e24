import { type Flag, option, toggle } from '../protocol/request/fields.ts'
import * as shape from '../protocol/shape/shape.ts'

/** The name of the option that lists them all, in the order in which they were given. */
export const shellOptionList = 'option'

const names = shape.list(shape.text('', { hint: 'name' }))

/** The options that bash has for the shell itself. */
export const shellFlags: readonly Flag[] = [
  named('errexit', 'e', 'Stop at the first command that fails'),
  named('nounset', 'u', 'Take unset variables for an error'),
  named('xtrace', 'x', 'Show each command before it runs'),
  named('noexec', 'n', 'Only check the syntax, run nothing'),
  option(shellOptionList, names, 'Switch on an option of `set -o`, such as pipefail', {
    short: 'o',
    toShellOption: (name) => name,
  }),
  option('shopt', names, 'Switch on an option of `shopt`, such as extglob', {
    short: 'O',
    toShellOption: (name) => `-O ${name}`,
  }),
  toggle('stdin', 'Read the commands from standard input; words behind it are $1, $2, …', {
    short: 's',
  }),
  named('allexport', 'a', 'Export every variable that is set'),
  named('notify', 'b', 'Tell at once of jobs that have ended'),
  named('noglob', 'f', 'Do not expand names of files'),
  named('keyword', 'k', 'Take every assignment in a command for its environment'),
  named('monitor', 'm', 'Give jobs process groups of their own'),
  named('onecmd', 't', 'End after one command'),
  named('verbose', 'v', 'Show lines as they are read; -v alone is the version'),
  named('braceexpand', 'B', 'Expand braces'),
  named('noclobber', 'C', 'Do not write over files with >'),
  named('errtrace', 'E', 'Functions take over the trap on ERR'),
  named('histexpand', 'H', 'Expand ! as history'),
  named('physical', 'P', 'Follow no symbolic links in cd'),
  named('functrace', 'T', 'Functions take over the traps on DEBUG and RETURN'),
  named('posix', null, 'Behave as POSIX says'),
  word('interactive', 'i', '-i', 'Read the start files of an interactive shell'),
  word('restricted', 'r', '-r', 'A restricted shell'),
  word('norc', null, '--norc', 'An interactive shell reads no ~/.bashrc'),
  word('noprofile', null, '--noprofile', 'A login shell reads no profile'),
  word('noediting', null, '--noediting', 'An interactive shell edits no lines'),
]

/** What `+` switches off, by its letter: also those whose letter means something else behind `-`. */
export const shellOffFlags: readonly Flag[] = [
  ...shellFlags.flatMap((flag) => {
    const { toShellOption } = flag
    const given = toShellOption?.('') ?? '-'
    if (flag.shape !== null) {
      const off = (value: string) => (flag.short === 'O' ? `+O ${value}` : `+o ${value}`)
      return [{ ...flag, toShellOption: off }]
    }
    return given.startsWith('-') ? [] : [off(given, flag.short)]
  }),
  off('hashall', 'h'),
  off('privileged', 'p'),
]

function named(name: string, short: string | null, description: string): Flag {
  return word(name, short, name, description)
}

function word(name: string, short: string | null, given: string, description: string): Flag {
  return toggle(name, description, {
    ...(short !== null && { short }),
    toShellOption: () => given,
  })
}

function off(name: string, short: string | undefined): Flag {
  return word(name, short ?? null, `+o ${name}`, '')
}
