import { anyText, spelled } from '../shell/marked-text.ts'
import type { Call, Follow } from '../shell/interpreter.ts'
import { unwrap, type Wrapper, wrappers } from './wrappers.ts'

/** Programs that a command behind an unlisted option is recognised by. */
const dangerous = new Set(
  'rm git dd mkfs find sh bash dash zsh ksh sudo env xargs rimraf shred tee eval timeout nohup nice'.split(
    ' ',
  ),
)

/** Follows a command that starts another one. */
export function startOther(wrapper: Wrapper): Follow {
  return wrapper.anywhere ? startAnywhere : (call) => startInner(call, wrapper)
}

function startInner(call: Call, wrapper: Wrapper): string {
  const { words, stdin, interpreter } = call
  const inner = unwrap(words.slice(1), wrapper)
  if (!inner) return call.words.at(-1) ?? ''
  const scope =
    call.name === 'exec' || call.name === 'command' || call.name === 'builtin'
      ? call.scope
      : call.scope.clone()
  for (const assignment of inner.assignments) {
    const at = assignment.indexOf('=')
    scope.assign(assignment.slice(0, at), [assignment.slice(at + 1)])
  }
  const { directory } = inner
  if (directory !== null) scope.enter([directory])
  let output = ''
  for (const script of inner.scripts) output += interpreter.runScript(spelled(script), scope, stdin)
  const split = splitValue(words.slice(1), wrapper)
  if (split !== null) {
    const rest = inner.words.map(spelled).join(' ')
    return (
      output +
      interpreter.runScript(
        `${wrapper === wrappers.env ? 'env ' : ''}${split} ${rest}`,
        scope,
        stdin,
      )
    )
  }
  if (inner.words.length === 0) {
    // `ssh host <<E`: the other side's shell reads it.
    if (wrapper.joins && stdin !== null) interpreter.runScript(spelled(stdin), scope, null)
    return output
  }
  if (wrapper.joins)
    return output + interpreter.runScript(inner.words.map(spelled).join(' '), scope, stdin)
  return output + interpreter.runWords(inner.words, scope, stdin)
}

/** `env -S 'a b' c`: the text is split as words, then the rest follows. */
function splitValue(args: readonly string[], wrapper: Wrapper): string | null {
  if (!wrapper.splitOptions) return null
  const index = args.findIndex((word) => /^-[A-Za-z0]*S|^--split-string/.test(word))
  if (index < 0) return null
  const word = args[index] ?? ''
  const attached = word.startsWith('--')
    ? word.split('=').slice(1).join('=') || null
    : word.replace(/^-[A-Za-z0]*?S/, '') || null
  return spelled(attached ?? args[index + 1] ?? '')
}

/** Reads from each word that names a program which a rule may catch. */
function startAnywhere({ name, words, scope, stdin, interpreter }: Call): string {
  for (let index = 1; index < words.length; index++) {
    const word = words[index] ?? ''
    const base = word.slice(word.lastIndexOf('/') + 1)
    const before = words[index - 1] ?? ''
    if (dangerous.has(base) || base in wrappers) {
      if (name === base || isOwnSubcommand(name, base)) continue
      interpreter.runWords(words.slice(index), scope.clone(), stdin)
      return anyText
    }
    if (runsScript(before, name)) {
      interpreter.runScript(spelled(word), scope.clone(), stdin)
    } else if (/\s/.test(word)) {
      const runsStrings = /^(?:tmux|screen|concurrently|hyperfine|watchexec|nodemon)$/.test(name)
      if (runsStrings) interpreter.runScript(spelled(word), scope.clone(), stdin)
    }
  }
  return anyText
}

/** `npm run env`, `yarn time`: scripts of the project. */
const isOwnSubcommand = (name: string, base: string): boolean =>
  /^(?:npm|pnpm|yarn|bun)$/.test(name) && !dangerous.has(base)

/** `nix develop -c`, `nix-shell --run`: what follows is a command. */
const runsScript = (option: string, program: string): boolean =>
  /^(?:-c|--run|--command|--exec|--shell-command)$/.test(option) &&
  !/^(?:perf|gdb|valgrind)$/.test(program)
