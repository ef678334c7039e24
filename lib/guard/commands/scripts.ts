import { gitAlias, readGit } from '../rules/git.ts'
import { empty, quote, Text, unknown } from '../shell/text.ts'
import type { Call, Commands, Follow } from './call.ts'

const stdinPaths = new Set(['-', '/dev/stdin', '/dev/fd/0', '/proc/self/fd/0'])

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
    if (/^--(?:rcfile|init-file)$/.test(word)) index++
    else if (!word.startsWith('--')) {
      if (word.startsWith('-') && word.includes('c')) isScript = true
      if (/[oO]$/.test(word)) index++
    } else if (word === '--command') isScript = true
  }
  return { isScript, operands: args.slice(index) }
}

const evaluate: Follow = ({ args, scope, stdin, shell }) =>
  shell.runScript(Text.join(args[0]?.is('--') ? args.slice(1) : args, ' '), scope, stdin)

const source: Follow = ({ args: [file, ...rest], scope, stdin, shell }) => {
  const isInput = file !== undefined && stdinPaths.has(file.chars)
  const text = isInput ? stdin : shell.readFile(file ?? empty, scope)
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

/** `at now <<< script`, `batch`: what they read runs later. */
const runsInput: Follow = ({ scope, stdin, shell }) => {
  if (stdin !== null) shell.runScript(stdin, scope.clone(), null)
  return unknown
}

/** Runs what stands behind a beginning, in each of the texts that has it. */
function runBehind(
  beginning: RegExp,
  texts: readonly Text[],
  { scope, shell }: Pick<Call, 'scope' | 'shell'>,
): Text {
  for (const text of texts) {
    const [start] = beginning.exec(text.chars) ?? []
    if (start !== undefined) shell.runScript(text.slice(start.length), scope.clone(), null)
  }
  return unknown
}

/** `crontab <<< '* * * * * script'` */
const crontab: Follow = (call) =>
  runBehind(/^\s*(?:@\w+|(?:\S+\s+){5})/, call.stdin?.split('\n') ?? [], call)

/** Editors: `-c ':!script'`. */
const editor: Follow = (call) => runBehind(/^(?:\+|:)*!/, call.words, call)

/** `tar --checkpoint-action=exec=script`, `--to-command=script`, `-I script`. */
const tar: Follow = ({ words, scope, shell }) => {
  for (const [index, word] of words.entries()) {
    const [option] =
      /^--(?:checkpoint-action=exec|to-command|use-compress-program)=/.exec(word.chars) ?? []
    const script = option === undefined ? null : word.slice(option.length)
    if (script) shell.runScript(script, scope.clone(), null)
    else if (words[index - 1]?.is('-I')) shell.runScript(word, scope.clone(), null)
  }
  return unknown
}

/** `sqlite3 db '.shell script'`, `psql -c '\\! script'`: a line may be a command of the shell. */
const database: Follow = (call) => {
  const texts = [...call.args, ...(call.stdin ? [call.stdin] : [])]
  const lines = texts.flatMap((text) => text.split('\n'))
  return runBehind(/^\s*(?:\.(?:shell|system)|\\!)\s+/, lines, call)
}

const shellNames = 'sh bash dash ash zsh ksh mksh yash fish csh tcsh rbash'.split(' ')

/** Programs that run the text of a script. */
export const scriptCommands: Commands = new Map([
  ...shellNames.map((name): [string, Follow] => [name, shell]),
  ...Object.entries({
    eval: evaluate,
    source,
    '.': source,
    trap,
    at: runsInput,
    batch: runsInput,
    crontab,
    vi: editor,
    vim: editor,
    nvim: editor,
    ex: editor,
    sqlite3: database,
    psql: database,
    mysql: database,
    tar,
  }),
])

/** Settings of git whose value it runs. */
const commandSetting =
  /^(?:core\.(?:sshcommand|pager|editor|fsmonitor)|diff\.external|sequence\.editor|pager\.\w+|credential\.helper)=!?/i

/** Reads the commands that git itself starts: an alias given by `-c`, `submodule foreach`, `--exec`. */
export function readGitScripts({ name, args: own, scope, shell }: Call): void {
  const call = readGit(name, own)
  if (!call) return
  const { subcommand, args } = call
  const run = (script: Text): void => {
    shell.runScript(script, scope.clone(), null)
  }
  runBehind(commandSetting, call.settings, { scope, shell })
  const alias = gitAlias(call) ?? scope.aliases.get(`git ${subcommand}`) ?? null
  if (alias !== null) {
    const isShell = alias.startsWith('!')
    run(Text.join([...(isShell ? [alias.slice(1)] : ['git', alias]), ...args.map(quote)], ' '))
    return
  }
  const afterOption = (option: RegExp): Text[] =>
    args.flatMap((_, index) => (args[index - 1]?.test(option) ? (args[index] ?? []) : []))
  switch (subcommand) {
    case 'config': {
      const [key, value] = args.filter((word) => !word.startsWith('-') && !word.is('set'))
      if (key?.startsWith('alias.') && value) {
        scope.aliases.set(`git ${key.chars.slice('alias.'.length)}`, value)
      }
      return
    }
    case 'submodule': {
      const at = args.findIndex((word) => word.is('foreach'))
      const script = args.slice(at + 1).filter((word) => !word.is('--recursive'))
      if (at >= 0) run(Text.join(script, ' '))
      return
    }
    case 'bisect':
      if (args[0]?.is('run')) shell.runWords(args.slice(1), scope.clone(), null)
      return
    case 'rebase':
      for (const script of afterOption(/^(?:-x|--exec)$/)) run(script)
      for (const word of args) if (word.startsWith('--exec=')) run(word.slice('--exec='.length))
      return
    case 'filter-branch':
      for (const script of afterOption(/^--\w+-filter$/)) run(script)
      return
    default:
  }
}
