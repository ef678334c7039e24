import type { Launch } from '../launch.ts'
import { quoteWord } from '../../protocol/words.ts'

/** A longer command is better given to a new process: the waiting shell reads byte by byte. */
const maxChars = 4096

/**
 * The text by which a waiting bash, started with `ready`, becomes the process of `launch`; null where
 * it cannot.
 */
export function composeHandOver(
  ready: Readonly<Record<string, string>>,
  launch: Launch,
  paths: { stdout: string; stderr: string },
): string | null {
  const environment = composeEnvironment(ready, launch.env)
  if (environment === null) return null
  const command = launch.args[1] ?? ''
  const { stdout, stderr } = paths
  const redirections = `exec </dev/null >${quoteWord(stdout)} 2>${quoteWord(stderr)}`
  const shell = `exec -a ${quoteWord(launch.argv0)} ${quoteWord(launch.file)} -c ${quoteWord(command)}`
  const text = [...environment, redirections, ...composeProgram(command), shell].join('\n')
  return text.length > maxChars || text.includes('\0') ? null : text
}

/** What makes one environment out of the other; null where a shell cannot. */
function composeEnvironment(
  from: Readonly<Record<string, string>>,
  to: Readonly<Record<string, string>>,
): string[] | null {
  const steps: string[] = []
  for (const name of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const value = to[name]
    if (value === from[name]) continue
    // Names that a shell cannot hold, or that it keeps itself.
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || ownVariables.has(name)) return null
    steps.push(value === undefined ? `unset -v ${name}` : `export ${name}=${quoteWord(value)}`)
  }
  return steps
}

/** Set by bash as it starts, so that a later change is not the same as another start. */
const ownVariables = new Set([
  ...['_', 'SHLVL', 'PWD', 'OLDPWD', 'IFS', 'PPID', 'UID', 'EUID', 'GROUPS', 'RANDOM', 'SRANDOM'],
  ...['SECONDS', 'LINENO', 'OPTIND', 'OPTERR', 'PS4', 'SHELL', 'HOSTNAME', 'HOSTTYPE', 'MACHTYPE'],
  ...[
    'OSTYPE',
    'EPOCHSECONDS',
    'EPOCHREALTIME',
    'DIRSTACK',
    'FUNCNAME',
    'TERM',
    'COLUMNS',
    'LINES',
  ],
])

/**
 * For a command of plain words, of which the first names a program: bash would become that program
 * without a process in between, and so does the waiting shell. Where the program is not found, the
 * next line runs the command as a shell does, with its message.
 */
function composeProgram(command: string): string[] {
  const words = command.trim().split(/[ \t]+/)
  const [name] = words
  if (name === undefined || !words.every((word) => plainWord.test(word))) return []
  if (/[=%]/.test(name) || shellWords.has(name) || command.includes('\n')) return []
  if (name.includes('/')) {
    return [`[[ -f ${name} && -x ${name} ]] && _=${name} exec ${words.join(' ')}`]
  }
  return [`hash ${name} 2>/dev/null && _="\${BASH_CMDS[${name}]}" exec ${words.join(' ')}`]
}

/** Nothing in it means anything to a shell. */
const plainWord = /^[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*$/

/** Reserved words and builtins of bash (5.3 and before). */
const shellWords = new Set(
  (
    'if then else elif fi case esac for select while until do done in function time coproc ' +
    'alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs ' +
    'disown echo enable eval exec exit export false fc fg getopts hash help history jobs kill let ' +
    'local logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt ' +
    'source suspend test times trap true type typeset ulimit umask unalias unset wait . :'
  ).split(' '),
)
