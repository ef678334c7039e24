import { empty, Text, unknown } from '../shell/text.ts'
import type { Commands, Follow } from './call.ts'

const silent: Follow = () => empty

const cd: Follow = ({ args, scope }) => {
  const target = args.findLast((word) => word.is('-') || !word.test(/^-[LPe@]*$|^--$|^[+-]\d+$/))
  scope.enter(target === undefined ? (scope.variables.get('HOME')?.values ?? [unknown]) : [target])
  return empty
}

const popd: Follow = ({ scope }) => {
  scope.enter([new Text('-')])
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

/** `read a b`: the words of any line of the input, the rest of them in the last name. */
const read: Follow = ({ args, scope, stdin }) => {
  const named = args.filter(
    (word, at) => !word.startsWith('-') && !args[at - 1]?.test(/^-[dinNptu]$/),
  )
  const names = named.length > 0 ? named : [new Text('REPLY')]
  if (names.some((name) => !name.test(/^[A-Za-z_]\w*(?:\[.*\])?$/))) return empty
  const lines = stdin?.split('\n').filter(({ length }) => length > 0) ?? [unknown]
  for (const [index, { chars: name }] of names.entries()) {
    const fields = lines.map((line) => {
      const words = line.split(/\s+/).slice(index)
      return index === names.length - 1 ? Text.join(words, ' ') : (words[0] ?? empty)
    })
    scope.assign(name, fields)
  }
  return empty
}

const alias: Follow = ({ args, scope }) => {
  for (const word of args) {
    const at = word.chars.indexOf('=')
    if (at > 0) scope.aliases.set(word.chars.slice(0, at), word.slice(at + 1))
  }
  return empty
}

const silentNames = 'true false : exit return shopt umask wait sleep mkdir touch rm'.split(' ')

/** Commands that change the state of the shell, or print nothing. */
export const stateCommands: Commands = new Map([
  ...Object.entries({
    cd,
    pushd: cd,
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
    alias,
  }),
  ...silentNames.map((name): [string, Follow] => [name, silent]),
])
