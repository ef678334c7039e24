import { delimiter, resolve } from 'node:path'
import { messageOf, MisuseError } from '../protocol/errors.ts'
import { parseHostAddress } from '../protocol/request/host-address.ts'
import { checkWritten, unknownField } from '../protocol/shape/check.ts'
import { isObject, type Shape } from '../protocol/shape/shape.ts'
import { nearestName } from '../protocol/wire.ts'
import { expandHome } from '../protocol/words.ts'
import { isBelow } from '../system/look.ts'
import type { Entry, Said } from './configuration.ts'
import { type Document, wrongConfiguration } from './document.ts'
import { groups, keys } from './keys.ts'

/** Where something is said; null: there is no such file. */
export interface Places {
  user: Document | null
  userFile: string
  own: Document | null
  /** The variables `NACRE_*` that are set, with their texts. */
  variables: readonly (readonly [name: string, text: string])[]
  cwd: string
  home: string
  workspace: string
  /** What was said of the files before. */
  notices: readonly string[]
}

/**
 * What the file of the user says, then that of the workspace as far as it may, then the variables; what comes
 * later wins. Throws `MisuseError`: the place, then what is wrong with it. It is loaded where something is said.
 */
export function readSaid({ cwd, home, workspace, userFile, ...places }: Places): Said {
  const user = places.user ? readConfigFile(places.user, { base: home, home }) : []
  const notices = [...places.notices]
  const own = places.own ? readConfigFile(places.own, { base: workspace, home }, notices) : []
  const variables = readVariables(places.variables, { base: cwd, home })
  const trustedFolders = [...user, ...variables]
    .filter(({ name }) => name === 'trusted_folders')
    .flatMap(({ value }) => value as string[])
  const permitted = restrict(own, user, {
    trusted: places.own !== null && isTrusted(workspace, trustedFolders),
    userFile,
    workspace,
  })
  const entries = [...user, ...permitted.entries, ...variables]
  return { entries, values: mergeEntries(entries), notices: [...notices, ...permitted.notices] }
}

/** The last one wins, or adds to those before it where the key adds up. */
function mergeEntries(entries: readonly Entry[]): Said['values'] {
  const values = new Map<string, unknown>()
  for (const { name, value } of entries) {
    const former = values.get(name)
    if (former === undefined || !keys.get(name)?.addsUp) values.set(name, value)
    else if (Array.isArray(former))
      values.set(name, [...(former as unknown[]), ...(value as unknown[])])
    else values.set(name, { ...(former as object), ...(value as object) })
  }
  return values
}

/** Whether a folder is one of those trusted, or below one. Links lead to what they name. */
export function isTrusted(folder: string, trusted: readonly string[]): boolean {
  return trusted.some((path) => isBelow(folder, path))
}

/** What a workspace's file may say, and a notice for each thing that it may not. */
function restrict(
  own: readonly Entry[],
  user: readonly Entry[],
  { trusted, userFile, workspace }: { trusted: boolean; userFile: string; workspace: string },
): { entries: Entry[]; notices: string[] } {
  const notices: string[] = []
  const entries = own.flatMap((entry): Entry[] => {
    const right = keys.get(entry.name)?.workspace ?? 'user'
    if (entry.name === 'guard.rules' && !trusted) return [untrustedRules(entry)]
    if (trusted && right !== 'user') return [entry]
    if (typeof right === 'function') {
      const current = user.findLast(({ name }) => name === entry.name)?.value
      if (right(entry.value, current, workspace) !== undefined) return [entry]
    }
    notices.push(`${entry.place}: \`${entry.name}\` is ignored: ${reasonOf(right, userFile)}`)
    return []
  })
  return { entries, notices }
}

/** The rules of a workspace may tighten what holds, and lift nothing: each is marked as such. */
function untrustedRules(entry: Entry): Entry {
  const rules = entry.value as readonly object[]
  return { ...entry, value: rules.map((rule) => ({ ...rule, untrusted: true })) }
}

function reasonOf(right: unknown, userFile: string): string {
  if (right === 'user') return `it is read from ${userFile} only`
  const what =
    right === 'trusted' ? 'a workspace may not set it' : 'a workspace may only tighten it'
  return `${what}, unless its folder is in \`trusted_folders\` of ${userFile}`
}

/**
 * The entries of a configuration file. Throws `MisuseError`, which names the file and the line; with
 * `notices`, what is wrong is left out and told there.
 */
function readConfigFile(document: Document, folders: Folders, notices?: string[]): Entry[] {
  function attempt<Part>(read: () => Part[]): Part[] {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof MisuseError)) throw error
      const wrong = wrongConfiguration(document.placeOf(error.field ?? ''), error.message)
      if (!notices) throw wrong
      notices.push(`${wrong.message}; it is ignored`)
      return []
    }
  }
  // `$schema` is there for editors, which find the JSON Schema by it; nacre passes it by.
  const { $schema: _, ...said } = document.value
  return Object.entries(said)
    .flatMap(([name, held]) => attempt(() => flatten(name, held)))
    .flatMap(([name, value]) => attempt(() => [readEntry(name, value, document, folders)]))
}

/** A key with its value; of a group each, as `group.key`. */
function flatten(name: string, held: unknown): [string, unknown][] {
  if (!groups.has(name)) return [[name, held]]
  // `"guard": false` is short for `"guard": { "enabled": false }`.
  if (typeof held === 'boolean' && keys.has(`${name}.enabled`)) return [[`${name}.enabled`, held]]
  if (isObject(held)) return Object.entries(held).map(([key, item]) => [`${name}.${key}`, item])
  throw new MisuseError('invalid_field', `\`${name}\` must be an object`, name)
}

function readEntry(name: string, value: unknown, document: Document, folders: Folders): Entry {
  const key = keys.get(name)
  if (key === undefined) throw unknownIn(name)
  const checked = readKeyValue(name, value, key.shape, folders)
  const place = document.placeOf(name)
  return {
    name,
    value: name === 'guard.rules' ? nameRules(name, checked, document) : checked,
    place,
  }
}

/** A rule without a name is known by its place. */
function nameRules(path: string, rules: unknown, document: Document): unknown {
  return (rules as Record<string, unknown>[]).map((rule, index) => ({
    name: document.placeOf(`${path}[${index}]`),
    ...rule,
  }))
}

const reading = { names: 'code', called: 'key' } as const

function unknownIn(name: string): MisuseError {
  const [group = '', key] = name.split('.')
  if (key === undefined || !groups.has(group)) {
    const top = [...keys.keys()].map((known) => known.split('.')[0] ?? '')
    return unknownField(name, name, [...new Set(top)], reading)
  }
  const within = [...keys.keys()].filter((known) => known.startsWith(`${group}.`))
  const names = within.map((known) => known.slice(group.length + 1))
  return unknownField(name, key, names, reading)
}

/** The entries of variables with their texts. Throws `MisuseError`, which names the variable. */
function readVariables(
  variables: readonly (readonly [name: string, text: string])[],
  folders: Folders,
): Entry[] {
  return variables.flatMap(([variable, text]) => readVariable(variable, text, folders))
}

function readVariable(variable: string, text: string, folders: Folders): Entry[] {
  const found = [...keys].find(([, key]) => key.variable === variable)
  if (found === undefined) {
    refuseMisspelt(variable)
    return []
  }
  const [name, key] = found
  try {
    const value = readKeyValue(name, parseText(text, key.shape), key.shape, folders)
    return [{ name, value, place: variable }]
  } catch (error) {
    throw wrongConfiguration(variable, messageOf(error))
  }
}

/** A variable that is not ours may be anybody's; one that is nearly ours was meant to be it. */
function refuseMisspelt(variable: string): void {
  const known = [...keys.values()].flatMap(({ variable: name }) => name ?? [])
  const short = (name: string) => name.slice('NACRE_'.length)
  const name = short(variable)
  const nearest = nearestName(name, known.map(short), Math.max(1, name.length / 6))
  if (nearest === null) return
  throw wrongConfiguration(variable, `Unknown variable; did you mean \`NACRE_${nearest}\`?`)
}

const switches = new Map([
  ...['1', 'true', 'on', 'yes'].map((word): [string, boolean] => [word, true]),
  ...['0', 'false', 'off', 'no'].map((word): [string, boolean] => [word, false]),
])

/** A text as the value that it stands for; where it stands for none, the check says so. */
function parseText(text: string, shape: Shape): unknown {
  switch (shape.kind) {
    case 'boolean':
      return switches.get(text.toLowerCase()) ?? text
    case 'number':
      return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
    case 'list':
      return shape.items.kind === 'text'
        ? text.split(delimiter).filter((path) => path !== '')
        : parseJson(text)
    case 'record':
      return parseJson(text)
    case 'either':
      if (shape.shapes.some(({ kind }) => kind === 'text')) return text
      return switches.get(text.toLowerCase()) ?? parseJson(text)
    default:
      return text
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new MisuseError('invalid_configuration', `This is no JSON: ${messageOf(error)}`)
  }
}

/** Where paths of a configuration begin. Both absolute. */
interface Folders {
  /** Relative paths begin here. */
  base: string
  /** What `~` stands for. */
  home: string
}

/**
 * Checks the value of a key and makes its paths absolute. Throws `MisuseError`, whose `field` is the
 * path of what is wrong: `guard.rules[0].decision`.
 */
function readKeyValue(name: string, value: unknown, shape: Shape, folders: Folders): unknown {
  const checked = checkWritten(shape, value, name, { names: 'wire', called: 'key' })
  if (name === 'hosts') {
    for (const [host, address] of Object.entries(checked as Record<string, string>)) {
      parseHostAddress(address, `hosts.${host}`)
    }
  }
  return completePaths(checked, shape, folders)
}

function completePaths(value: unknown, shape: Shape, folders: Folders): unknown {
  if (shape.kind === 'list' && Array.isArray(value)) {
    return value.map((item) => completePaths(item, shape.items, folders))
  }
  const isPath = shape.kind === 'text' && (shape.hint === 'dir' || shape.hint === 'path')
  return isPath ? resolve(folders.base, expandHome(String(value), folders.home)) : value
}
