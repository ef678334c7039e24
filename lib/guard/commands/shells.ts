import { spelled, unknown } from '../shell/marked-text.ts'
import type { Call, Follow } from '../shell/interpreter.ts'

const stdinPaths = new Set(['-', '/dev/stdin', '/dev/fd/0', '/proc/self/fd/0'])

/** `sh -c script`, `sh file`, `… | sh`. */
const shell: Follow = ({ words, scope, stdin, interpreter }) => {
  const { isScript, operands } = readShellOptions(words.slice(1))
  const inner = scope.clone()
  const [first, ...rest] = operands
  if (isScript) {
    const [zero, ...parameters] = rest
    if (zero !== undefined) inner.assign('0', [zero])
    inner.parameters = parameters
    return first === undefined ? '' : interpreter.runScript(spelled(first), inner, stdin)
  }
  const isFile =
    first !== undefined && !stdinPaths.has(first) && !words.some((word) => /^-\w*s/.test(word))
  inner.parameters = isFile ? rest : operands
  const source = isFile ? interpreter.readFile(first, scope) : stdin
  return source === null ? unknown : interpreter.runScript(spelled(source), inner, null)
}

function readShellOptions(args: readonly string[]): {
  isScript: boolean
  operands: readonly string[]
} {
  let isScript = false
  let index = 0
  for (; index < args.length; index++) {
    const word = args[index] ?? ''
    if (word === '--' || word === '-') {
      index++
      break
    }
    if (!/^[-+]./.test(word)) break
    if (/^--(?:rcfile|init-file)$/.test(word)) index++
    else if (!word.startsWith('--')) {
      if (word.startsWith('-') && word.includes('c')) isScript = true
      if (/[oO]$/.test(word)) index++
    } else if (word === '--command') isScript = true
  }
  return { isScript, operands: args.slice(index) }
}

const evaluate: Follow = ({ words, scope, stdin, interpreter }) => {
  const args = words[1] === '--' ? words.slice(2) : words.slice(1)
  return interpreter.runScript(args.map(spelled).join(' '), scope, stdin)
}

const source: Follow = ({ words, scope, stdin, interpreter }) => {
  const [, file, ...args] = words
  const text =
    file !== undefined && stdinPaths.has(file) ? stdin : interpreter.readFile(file ?? '', scope)
  if (args.length > 0) scope.parameters = args
  return text === null ? unknown : interpreter.runScript(spelled(text), scope, null)
}

/** A trap runs when all that follows it has been assigned. */
const trap: Follow = ({ words, scope, interpreter }: Call) => {
  const script = words.slice(1).find((word) => word !== '--')
  if (words.length > 2 && script !== undefined && script !== '-' && !/^-[lpP]/.test(script)) {
    interpreter.later(spelled(script), scope)
  }
  return ''
}

const shellNames = 'sh bash dash ash zsh ksh mksh yash fish csh tcsh rbash'.split(' ')

export const scriptCommands: Readonly<Record<string, Follow>> = {
  ...Object.fromEntries(shellNames.map((name) => [name, shell])),
  eval: evaluate,
  source,
  '.': source,
  trap,
}
