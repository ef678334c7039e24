import { isKnown, spelled, unknown } from '../shell/marked-text.ts'
import type { Call, Follow } from '../shell/interpreter.ts'
import { quote } from './quote.ts'

const silent: Follow = () => ''

function changeDirectory({ words, scope }: Call): string {
  const target = words.slice(1).findLast((word) => !/^-[LPe@]*$|^--$/.test(word) || word === '-')
  scope.enter(target === undefined ? (scope.variables.get('HOME')?.values ?? [unknown]) : [target])
  return ''
}

function pushDirectory(call: Call): string {
  const { scope, words } = call
  const target = words[1]
  if (target === undefined || /^[+-]\d+$/.test(target)) return ''
  scope.directoryStack = [...scope.directoryStack, scope.directories]
  return changeDirectory(call)
}

function popDirectory({ scope }: Call): string {
  scope.directories = scope.directoryStack.at(-1) ?? [unknown]
  scope.directoryStack = scope.directoryStack.slice(0, -1)
  return ''
}

/** `export`, `declare`, `local`, `readonly`, `typeset`: `NAME=value` words assign. */
function declare({ words, scope }: Call): string {
  for (const word of words.slice(1)) {
    const [, name, append, value] = /^([A-Za-z_]\w*)(\+?)=(.*)$/s.exec(word) ?? []
    if (name === undefined || value === undefined) continue
    const before = append ? (scope.variables.get(name)?.values ?? ['']) : ['']
    scope.assign(
      name,
      before.map((text) => text + value),
    )
  }
  return ''
}

function unset({ words, scope }: Call): string {
  for (const name of words.slice(1)) {
    if (name.startsWith('-')) continue
    scope.assign(name, [''])
    scope.functions.delete(name)
  }
  return ''
}

function setParameters({ words, scope }: Call): string {
  const args = words.slice(1)
  // With an option that it does not know, it sets nothing.
  if (/^-[^-]*[^abefhkmnoptuvxBCEHPT]/.test(args[0] ?? '') && args[0] !== '--') return ''
  const at = args.findIndex(
    (word, index) =>
      word === '--' || (!/^[-+]/.test(word) && !/^[-+]\w*o$/.test(args[index - 1] ?? '')),
  )
  if (at >= 0) scope.parameters = args[at] === '--' ? args.slice(at + 1) : args.slice(at)
  return ''
}

function shift({ words, scope }: Call): string {
  if (scope.parameters) scope.parameters = scope.parameters.slice(Number(words[1] ?? 1) || 1)
  return ''
}

function read({ words, scope, stdin }: Call): string {
  const names: string[] = []
  for (let index = 1; index < words.length; index++) {
    const word = words[index] ?? ''
    if (/^-\w*[adinNptu]$/.test(word)) {
      if (word.endsWith('a')) names.push(words[index + 1] ?? '')
      index++
    } else if (!word.startsWith('-')) names.push(word)
  }
  const lines = stdin === null ? [unknown] : stdin.split('\n').filter((line) => line !== '')
  if (names.some((name) => !/^[A-Za-z_]\w*(?:\[.*\])?$/.test(name))) return ''
  if (names.length === 0) names.push('REPLY')
  for (const [index, name] of names.entries()) {
    const isLast = index === names.length - 1
    const values = lines.map((line) => {
      const fields = line.trim().split(/\s+/)
      return isLast ? fields.slice(index).join(' ') : (fields[index] ?? '')
    })
    if (words.some((word) => /^-\w*a/.test(word)))
      scope.assignElements(
        name,
        lines.flatMap((line) => line.split(/\s+/)),
      )
    else scope.assign(name, values)
  }
  return ''
}

function mapfile({ words, scope, stdin, interpreter }: Call): string {
  const callback = words[words.indexOf('-C') + 1]
  if (words.includes('-C') && callback !== undefined)
    interpreter.runScript(spelled(callback), scope.clone(), null)
  const last = words.at(-1) ?? 'MAPFILE'
  const name = words.length > 1 && !last.startsWith('-') ? last : 'MAPFILE'
  scope.assignElements(
    name,
    stdin === null ? [unknown] : stdin.split('\n').filter((line) => line !== ''),
  )
  return ''
}

function alias({ words, scope }: Call): string {
  for (const word of words.slice(1)) {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(word) ?? []
    if (name !== undefined && value !== undefined) scope.aliases.set(name, value)
  }
  return ''
}

function hash({ words, scope }: Call): string {
  const [, option, path, name] = words
  if (option === '-p' && path !== undefined && name !== undefined)
    scope.aliases.set(name, quote(path))
  return ''
}

/** `cp /bin/rm x`: later `x` is `rm`. */
function copyProgram({ words, scope }: Call): string {
  const operands = words.slice(1).filter((word) => !word.startsWith('-'))
  const [from, to] = operands
  if (operands.length !== 2 || from === undefined || to === undefined) return ''
  if (!/^\/(?:usr\/)?s?bin\/[\w.-]+$/.test(from) || !isKnown(to)) return ''
  const isFolder = to.endsWith('/')
  const base = isFolder ? from.slice(from.lastIndexOf('/') + 1) : to.slice(to.lastIndexOf('/') + 1)
  scope.aliases.set(base, from)
  return ''
}

export const stateCommands: Readonly<Record<string, Follow>> = {
  cd: changeDirectory,
  chdir: changeDirectory,
  pushd: pushDirectory,
  popd: popDirectory,
  export: declare,
  declare,
  typeset: declare,
  local: declare,
  readonly: declare,
  unset,
  set: setParameters,
  shift,
  read,
  mapfile,
  readarray: mapfile,
  alias,
  hash,
  cp: copyProgram,
  ln: copyProgram,
  install: copyProgram,
  true: silent,
  false: silent,
  ':': silent,
  exit: silent,
  return: silent,
  shopt: silent,
  umask: silent,
  wait: silent,
  sleep: silent,
  mkdir: silent,
  touch: silent,
  rm: silent,
}
