import { gitAlias, readGit } from '../rules/git.ts'
import { forkBomb } from '../rules/rule.ts'
import { readOptions } from '../shell/options.ts'
import { empty, quote, Text, unknown } from '../shell/text.ts'
import type { Call, Commands, Follow } from './call.ts'

const stdinPaths = new Set(['-', '/dev/stdin', '/dev/fd/0'])

/** `sh -c script`, `sh file`, `… | sh`. */
const shell: Follow = ({ args, scope, stdin, shell }) => {
  const dashed = args.map((word) => word.replace(/^\+(?=\w)/g, () => '-'))
  const options = readOptions(dashed, {
    shortValues: 'oO',
    longValues: 'rcfile init-file',
    stopsAtOperand: true,
  })
  const { operands } = options
  const inner = scope.clone()
  const [first, ...rest] = operands
  if (options.has('c', 'command')) {
    const [zero, ...parameters] = rest
    if (zero !== undefined) inner.assign('0', [zero])
    inner.parameters = parameters
    return first === undefined ? empty : shell.runScript(first, inner, stdin)
  }
  const isFile = first !== undefined && !stdinPaths.has(first.chars) && !options.has('s')
  inner.parameters = isFile ? rest : operands
  const source = isFile ? shell.readFile(first, scope) : stdin
  return source === null ? unknown : shell.runScript(source, inner, null)
}

const evaluate: Follow = ({ args, scope, stdin, shell }) =>
  shell.runScript(Text.join(args[0]?.is('--') ? args.slice(1) : args, ' '), scope, stdin)

const source: Follow = ({ args: [file = empty, ...rest], scope, stdin, shell }) => {
  const text = stdinPaths.has(file.chars) ? stdin : shell.readFile(file, scope)
  if (rest.length > 0) scope.parameters = rest
  return text === null ? unknown : shell.runScript(text, scope, null)
}

/** A trap runs when all that follows it has been assigned. */
const trap: Follow = ({ args, scope, shell }) => {
  const script = args.find((word) => !word.is('--'))
  if (args.length > 1 && script && !script.is('-') && !script.test(/^-[lpP]/)) {
    shell.later(script, scope)
  }
  return empty
}

const shellNames = 'sh bash dash ash zsh ksh mksh fish csh tcsh rbash'.split(' ')

/** Programs that run the text of a script. */
export const scriptCommands: Commands = new Map([
  ...shellNames.map((name): [string, Follow] => [name, shell]),
  ['eval', evaluate],
  ['source', source],
  ['.', source],
  ['trap', trap],
])

/** Reads the commands that git itself starts: an alias, `submodule foreach`, `bisect run`, `rebase --exec`. */
export function readGitScripts({ name, args: own, scope, shell }: Call): void {
  const call = readGit(name, own)
  if (!call) return
  const { subcommand, args } = call
  const run = (script: Text): void => {
    shell.runScript(script, scope.clone(), null)
  }
  const alias = gitAlias(call)
  if (alias !== null) {
    const isShell = alias.startsWith('!')
    run(Text.join([...(isShell ? [alias.slice(1)] : ['git', alias]), ...args.map(quote)], ' '))
  } else if (/^(?:submodule|bisect|rebase|filter-branch)$/.test(subcommand)) {
    const at = args.findIndex((word) => word.test(/^(?:foreach|run|-x|--exec|--\w+-filter)$/))
    const script = args.slice(at + 1).filter((word) => !word.is('--recursive'))
    if (at >= 0) run(subcommand === 'rebase' ? (script[0] ?? empty) : Text.join(script, ' '))
  }
}

const starts = /\b(?:system|exec\w*|p?open|spawn\w*|call|run|check_\w+|shell_exec)\b|`/
const removes = /\b(?:rmtree|remove_tree|rmSync|rmdirSync|rm_rf|rm_r)\b[\s(.\w]*$/
const writes = /writ|put_contents|WRONLY|>|['"][wax]|r\+/i
const forkLoop = /\bfork\b[\s()]*while\b|\b(?:while|loop|for)\b[^]{0,40}\bfork\b|\bfork\(\) for\b/
const literal = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g

/**
 * A program in another language. Only texts in it are looked at: what may be handed to a shell, a
 * folder that is removed by name, a device in a program that writes. What is not certain is dropped.
 */
const runInlineCode: Follow = (call) => {
  for (const code of programs(call)) {
    if (code.beginsWith('n')) call.shell.runScript(code, call.scope, null)
    if (code.test(forkLoop)) call.shell.runWords([new Text(forkBomb)], call.scope, null)
    call.shell.onlyWhatIsCertain(() => readCode(code.source, call))
  }
  return unknown
}

/** An argument, else standard input (`python3 - <<E`) or a file that the command itself wrote. */
function programs({ name, args, stdin, scope, shell }: Call): readonly Text[] {
  if (name.endsWith('awk')) return args.filter((word) => word.test(/[{(]/))
  const option = /^-[a-zA-Z]*[ceEpr]$|^--(?:eval|print|run)$/
  const given = args.filter((_, index) => args[index - 1]?.test(option))
  if (given.length > 0) return given
  const file = args.find((word) => word.is('-') || !word.startsWith('-'))
  const code = file === undefined || file.is('-') ? stdin : shell.readFile(file, scope)
  return code ? [code] : []
}

function readCode(code: string, { scope, shell }: Call): void {
  const run = (...parts: (Text | string)[]): void => {
    shell.runScript(Text.join(parts), scope.clone(), null)
  }
  const literals = [...code.matchAll(literal)].map((match) => ({
    text: new Text((match[1] ?? match[2] ?? match[3] ?? '').replace(/\\(["'`\\])/g, '$1')),
    before: code.slice(Math.max(0, match.index - 60), match.index),
  }))
  const texts = literals.map(({ text }) => text)
  if (starts.test(code)) {
    for (const text of texts) run(text)
    // `["rm", "-rf", "/"]`
    shell.runWords(texts, scope.clone(), null)
  }
  for (const { text, before } of literals) {
    if (removes.test(before)) run('rm -rf ', text.is('~') ? text : quote(text))
    if (text.startsWith('/dev/') && writes.test(code)) run(': > ', quote(text))
  }
}

const languages = 'python python3 perl ruby node php awk gawk'.split(' ')

export const inlineCodeCommands: Commands = new Map(languages.map((name) => [name, runInlineCode]))
