import { empty, quote, Text, unknown } from '../shell/text.ts'
import type { Commands, Follow } from './call.ts'

const silent: Follow = () => empty

const cd: Follow = ({ args, scope }) => {
  const target = args.findLast((word) => word.is('-') || !word.test(/^-[LPe@]*$|^--$/))
  scope.enter(target === undefined ? (scope.variables.get('HOME')?.values ?? [unknown]) : [target])
  return empty
}

const pushd: Follow = (call) => {
  const { scope, args } = call
  const [target] = args
  if (target === undefined || target.test(/^[+-]\d+$/)) return empty
  scope.directoryStack = [...scope.directoryStack, scope.directories]
  return cd(call)
}

const popd: Follow = ({ scope }) => {
  scope.directories = scope.directoryStack.at(-1) ?? [unknown]
  scope.directoryStack = scope.directoryStack.slice(0, -1)
  return empty
}

/** `export`, `declare`, `local`, `readonly`, `typeset`: `NAME=value` words assign. */
const declare: Follow = ({ args, scope }) => {
  for (const word of args) {
    const [start = '', name, append] = /^([A-Za-z_]\w*)(\+?)=/.exec(word.chars) ?? []
    if (name === undefined) continue
    const value = word.slice(start.length)
    const before = (append === '+' && scope.variables.get(name)?.values) || [empty]
    scope.assign(
      name,
      before.map((text) => Text.join([text, value])),
    )
  }
  return empty
}

const unset: Follow = ({ args, scope }) => {
  for (const { chars: name } of args) {
    if (name.startsWith('-')) continue
    scope.assign(name, [empty])
    scope.functions.delete(name)
  }
  return empty
}

const set: Follow = ({ args, scope }) => {
  const [first] = args
  // With an option that it does not know, it sets nothing.
  if (first && !first.is('--') && first.test(/^-[^-]*[^abefhkmnoptuvxBCEHPT]/)) return empty
  const at = args.findIndex(
    (word, index) => word.is('--') || (!word.test(/^[-+]/) && !args[index - 1]?.test(/^[-+]\w*o$/)),
  )
  if (at >= 0) scope.parameters = args.slice(args[at]?.is('--') ? at + 1 : at)
  return empty
}

const shift: Follow = ({ args, scope }) => {
  scope.parameters = scope.parameters?.slice(Number(args[0]?.chars ?? 1) || 1) ?? null
  return empty
}

const read: Follow = ({ args, scope, stdin }) => {
  const names: string[] = []
  for (let index = 0; index < args.length; index++) {
    const word = args[index]?.chars ?? ''
    if (/^-\w*[adinNptu]$/.test(word)) {
      index++
      if (word.endsWith('a')) names.push(args[index]?.chars ?? '')
    } else if (!word.startsWith('-')) names.push(word)
  }
  if (names.some((name) => !/^[A-Za-z_]\w*(?:\[.*\])?$/.test(name))) return empty
  if (names.length === 0) names.push('REPLY')
  const lines = linesOf(stdin)
  const isArray = args.some((word) => word.test(/^-\w*a/))
  for (const [index, name] of names.entries()) {
    if (isArray) {
      scope.assignElements(
        name,
        lines.flatMap((line) => line.split(/\s+/)),
      )
      continue
    }
    const isLast = index === names.length - 1
    const values = lines.map((line) => {
      const fields = line.split(/\s+/).filter(({ length }) => length > 0)
      return isLast ? Text.join(fields.slice(index), ' ') : (fields[index] ?? empty)
    })
    scope.assign(name, values)
  }
  return empty
}

const linesOf = (stdin: Text | null): Text[] =>
  stdin === null ? [unknown] : stdin.split('\n').filter(({ length }) => length > 0)

const mapfile: Follow = ({ args, scope, stdin, shell }) => {
  const callback = args[args.findIndex((word) => word.is('-C')) + 1]
  if (callback && args.some((word) => word.is('-C'))) {
    shell.runScript(callback, scope.clone(), null)
  }
  const last = args.at(-1)
  const name = last && !last.startsWith('-') ? last.chars : 'MAPFILE'
  scope.assignElements(name, linesOf(stdin))
  return empty
}

const alias: Follow = ({ args, scope }) => {
  for (const word of args) {
    const at = word.chars.indexOf('=')
    if (at > 0) scope.aliases.set(word.chars.slice(0, at), word.slice(at + 1))
  }
  return empty
}

const hash: Follow = ({ args: [option, path, name], scope }) => {
  if (option?.is('-p') && path && name) scope.aliases.set(name.chars, quote(path))
  return empty
}

/** `cp /bin/rm x`: later `x` is `rm`. */
const copyProgram: Follow = ({ args, scope }) => {
  const [from, to, ...others] = args.filter((word) => !word.startsWith('-'))
  if (!from || !to || others.length > 0) return empty
  if (!from.test(/^\/(?:usr\/)?s?bin\/[\w.-]+$/) || !to.isKnown) return empty
  const named = to.endsWith('/') ? from : to
  scope.aliases.set(named.chars.slice(named.chars.lastIndexOf('/') + 1), from)
  return empty
}

const silentNames = 'true false : exit return shopt umask wait sleep mkdir touch rm'.split(' ')

/** Commands that change the state of the shell, or print nothing. */
export const stateCommands: Commands = new Map([
  ...Object.entries({
    cd,
    chdir: cd,
    pushd,
    popd,
    export: declare,
    declare,
    typeset: declare,
    local: declare,
    readonly: declare,
    unset,
    set,
    shift,
    read,
    mapfile,
    readarray: mapfile,
    alias,
    hash,
    cp: copyProgram,
    ln: copyProgram,
    install: copyProgram,
  }),
  ...silentNames.map((name): [string, Follow] => [name, silent]),
])
