import { nameSignal } from '../system/process/process-table.ts'

/** Exit codes by which a program says something other than "failed", as its manual page has it. */
const meanings: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  grep: { 1: 'no lines matched', 2: 'grep failed' },
  egrep: { 1: 'no lines matched' },
  fgrep: { 1: 'no lines matched' },
  zgrep: { 1: 'no lines matched' },
  rg: { 1: 'no lines matched', 2: 'ripgrep failed' },
  ag: { 1: 'no lines matched' },
  diff: { 1: 'files differ', 2: 'diff failed' },
  cmp: { 1: 'files differ', 2: 'cmp failed' },
  colordiff: { 1: 'files differ' },
  test: { 1: 'the condition is false' },
  '[': { 1: 'the condition is false' },
  '[[': { 1: 'the condition is false' },
  timeout: { 124: 'timed out', 137: 'timed out and was killed' },
  pgrep: { 1: 'no process matched' },
  pkill: { 1: 'no process matched' },
  which: { 1: 'not on the PATH' },
  expr: { 1: 'the expression is empty or 0' },
  curl: {
    6: 'host could not be resolved',
    7: 'could not connect',
    22: 'the server answered with an error',
    28: 'timed out',
    35: 'TLS handshake failed',
  },
  ssh: { 255: 'ssh itself failed' },
  pytest: { 1: 'tests failed', 2: 'interrupted', 4: 'wrong usage', 5: 'no tests were collected' },
  git: { 128: 'git failed', 129: 'wrong usage' },
  make: { 2: 'make failed' },
}

/** What shells mean by the codes that they give themselves. */
const shellMeanings: Readonly<Record<number, string>> = {
  126: 'not executable',
  127: 'command not found',
}

/** What an exit code says, where the program that gave it is known; else null. */
export function describeExit(command: string, exitCode: number): string | null {
  if (exitCode === 0) return null
  const known = meanings[lastProgram(command)]?.[exitCode] ?? shellMeanings[exitCode]
  if (known) return known
  const signal = nameSignal(exitCode - 128)
  return signal ? `a command was ended by ${signal}` : null
}

/**
 * The program whose status a simple command line ends with. Text in quotes is left out first, so
 * that a separator within does not count; what is not understood gives no name.
 */
function lastProgram(command: string): string {
  const bare = command.replaceAll(/\\.|'[^']*'|"(?:\\.|[^"\\])*"/gs, '_').trim()
  const last = bare.split(/\|\||&&|[|;\n]/).at(-1) ?? ''
  const words = last.trim().split(/\s+/)
  const first = words.find((word) => !/^[A-Za-z_]\w*=/.test(word)) ?? ''
  return first.split('/').at(-1) ?? ''
}
