import { gitAlias, readGit } from '../rules/git.ts'
import { empty, quote, Text, unknown } from '../shell/text.ts'
import type { Call, Commands, Follow } from './call.ts'

const stdinPaths = new Set(['-', '/dev/stdin', '/dev/fd/0'])

/** `sh -c script`, `sh file`, `… | sh`. */
const shell: Follow = ({ args, scope, stdin, shell }) => {
  const { isScript, operands } = readShellOptions(args)
  const inner = scope.clone()
  const [first, ...rest] = operands
  if (isScript) {
    const [zero, ...parameters] = rest
    if (zero !== undefined) inner.assign('0', [zero])
    inner.parameters = parameters
    return first === undefined ? empty : shell.runScript(first, inner, stdin)
  }
  const readsInput = first === undefined || stdinPaths.has(first.chars)
  const isFile = !readsInput && !args.some((word) => word.test(/^-\w*s/))
  inner.parameters = isFile ? rest : operands
  const source = isFile ? shell.readFile(first, scope) : stdin
  return source === null ? unknown : shell.runScript(source, inner, null)
}

function readShellOptions(args: readonly Text[]): {
  isScript: boolean
  operands: readonly Text[]
} {
  let isScript = false
  let index = 0
  for (; index < args.length; index++) {
    const word = args[index]?.chars ?? ''
    if (word === '--' || word === '-') {
      index++
      break
    }
    if (!/^[-+]./.test(word)) break
    if (/^-\w*c|^--command$/.test(word)) isScript = true
    if (/^[-+]\w*[oO]$|^--(?:rcfile|init-file)$/.test(word)) index++
  }
  return { isScript, operands: args.slice(index) }
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

/** Reads the commands that git itself starts: an alias, `submodule foreach`, `--exec`, a setting. */
export function readGitScripts({ name, args: own, scope, shell }: Call): void {
  const call = readGit(name, own)
  if (!call) return
  const { subcommand, args, settings } = call
  const run = (script: Text): void => {
    shell.runScript(script, scope.clone(), null)
  }
  const alias = gitAlias(call) ?? scope.aliases.get(`git ${subcommand}`) ?? null
  if (alias !== null) {
    const isShell = alias.startsWith('!')
    run(Text.join([...(isShell ? [alias.slice(1)] : ['git', alias]), ...args.map(quote)], ' '))
    return
  }
  for (const setting of settings) {
    const [start] =
      /^(?:core\.(?:sshcommand|pager|editor)|pager\.\w+)=!?/i.exec(setting.chars) ?? []
    if (start !== undefined) run(setting.slice(start.length))
  }
  if (subcommand === 'config') {
    const [key, value] = args.filter((word) => !word.startsWith('-') && !word.is('set'))
    if (key?.startsWith('alias.') && value) {
      scope.aliases.set(`git ${key.chars.slice('alias.'.length)}`, value)
    }
  } else if (subcommand === 'submodule' || subcommand === 'bisect') {
    const at = args.findIndex((word) => word.test(/^(?:foreach|run)$/))
    const script = args.slice(at + 1).filter((word) => !word.is('--recursive'))
    if (at >= 0) run(Text.join(script, ' '))
  } else if (subcommand === 'rebase' || subcommand === 'filter-branch') {
    for (const [index, word] of args.entries()) {
      if (args[index - 1]?.test(/^(?:-x|--exec|--\w+-filter)$/)) run(word)
      else if (word.startsWith('--exec=')) run(word.slice('--exec='.length))
    }
  }
}

/** The options by which an interpreter takes its program as an argument. */
const programOptions: Readonly<Record<string, RegExp>> = {
  python: /^-[a-zA-Z]*c$/,
  python3: /^-[a-zA-Z]*c$/,
  perl: /^-[a-zA-Z]*[eE]$/,
  ruby: /^-[a-zA-Z]*e$/,
  node: /^(?:-[a-z]*[ep]|--eval|--print)$/,
  php: /^(?:-r|--run)$/,
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
    if (code.test(forkLoop)) call.shell.sawForkBomb()
    call.shell.onlyWhatIsCertain(() => readCode(code.source, call))
  }
  return unknown
}

function programs({ name, args, stdin, scope, shell }: Call): readonly Text[] {
  if (name.endsWith('awk')) return args.filter((word) => word.test(/[{(]/))
  const option = programOptions[name]
  const given = args.filter((_, index) => option && args[index - 1]?.test(option))
  if (given.length > 0) return given
  // `python3 - <<E`, or a file that the command itself wrote.
  const file = args.find((word) => !word.startsWith('-'))
  const code = file === undefined ? stdin : shell.readFile(file, scope)
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
  if (starts.test(code)) {
    for (const { text } of literals) run(text)
    // `["rm", "-rf", "/"]`
    shell.runWords(
      literals.map(({ text }) => text),
      scope.clone(),
      null,
    )
  }
  for (const { text, before } of literals) {
    if (removes.test(before)) run('rm -rf ', text.is('~') ? text : quote(text))
    if (text.test(/^>?\/dev\//) && writes.test(code))
      run(': > ', quote(text.replace(/^>/g, () => '')))
  }
}

export const inlineCodeCommands: Commands = new Map(
  [...Object.keys(programOptions), 'awk', 'gawk'].map((name) => [name, runInlineCode]),
)
