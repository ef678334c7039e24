import { delimiter, resolve } from 'node:path'
import type { ValueNode } from '@humanwhocodes/momoa'
import { isObject, type Shape } from '../protocol/shape/shape.ts'
import { messageOf, MisuseError } from '../protocol/errors.ts'
import { readRegularFile, isBelow } from '../system/look.ts'
import { parseHostAddress } from '../protocol/request/host-address.ts'
import { checkWritten, unknownField } from '../protocol/shape/check.ts'
import { nearestName } from '../protocol/wire.ts'
import { expandHome } from '../protocol/words.ts'
import { type Entry, groups, keys } from './keys.ts'

/** Everything that is wrong in a configuration is misuse: the place, then one sentence. */
function wrongConfiguration(place: string, message: string): MisuseError {
  return new MisuseError('invalid_configuration', `${place}: ${message}`)
}

/** A JSON file that knows where each of its values stands. */
export interface Document {
  file: string
  value: Record<string, unknown>
  /** `file:line` of the value at a path such as `guard.rules[0].decision`, or of what holds it. */
  placeOf(path: string): string
}

/**
 * Reads a file of JSON; comments and trailing commas are fine. Throws `MisuseError` where it cannot be read or
 * is no object. `within`: the folder that links may not lead out of.
 */
export async function readDocument(file: string, within: string | null = null): Promise<Document> {
  const text = readText(file, within)
  const { evaluate, parse } = await import('@humanwhocodes/momoa')
  let body: ValueNode
  try {
    ;({ body } = parse(text, { mode: 'jsonc', allowTrailingCommas: true }))
  } catch (error) {
    const [, said = '', line = '1'] = /^(.*?) ?(?:\((\d+):\d+\))?$/s.exec(messageOf(error)) ?? []
    throw wrongConfiguration(`${file}:${line}`, `This is no JSON: ${said}`)
  }
  const value: unknown = evaluate(body)
  if (!isObject(value)) throw wrongConfiguration(`${file}:1`, 'The configuration must be an object')
  return {
    file,
    value,
    placeOf: (path) => `${file}:${find(body, path.split(/[.[\]]+/).filter(Boolean))}`,
  }
}

function readText(file: string, within: string | null): string {
  try {
    return readRegularFile(file, within).replace(/^\uFEFF/, '')
  } catch (error) {
    throw wrongConfiguration(file, `The configuration cannot be read: ${messageOf(error)}`)
  }
}

/** The line of a member's name or of an element, as far as the path leads. */
function find(node: ValueNode, [name, ...rest]: readonly string[]): number {
  if (name !== undefined && node.type === 'Object') {
    const member = node.members.findLast(
      ({ name: key }) => (key.type === 'String' ? key.value : key.name) === name,
    )
    if (member) return rest.length === 0 ? member.loc.start.line : find(member.value, rest)
  }
  if (name !== undefined && node.type === 'Array') {
    const element = node.elements[Number(name)]
    if (element) return find(element.value, rest)
  }
  return node.loc.start.line
}

/** Where something is said. */
interface Places {
  /** Those of the user and of the workspace that are there. */
  files: readonly string[]
  userFile: string
  /** The variables `NACRE_*` that are set, with their texts. */
  variables: readonly (readonly [name: string, text: string])[]
  cwd: string
  home: string
  workspace: string
}

/** What files and variables say, as far as each may. */
export interface Said {
  /** In the order in which they win. */
  entries: readonly Entry[]
  /** What holds of each key. */
  values: ReadonlyMap<string, unknown>
  notices: readonly string[]
}

/**
 * What the file of the user says, then that of the workspace as far as it may, then the variables; what comes
 * later wins. Throws `MisuseError`: the place, then what is wrong with it. What is wrong in the file of a
 * workspace is a notice, since whoever works there may not have written it. `read`: the files that could be.
 */
export async function readSaid(places: Places): Promise<Said & { read: string[] }> {
  const { files, userFile, cwd, home, workspace } = places
  const notices: string[] = []
  const read: string[] = []
  let user: Entry[] = []
  let own: Entry[] = []
  for (const file of files) {
    if (file === userFile) {
      user = readConfigFile(await readDocument(file), { base: home, home })
      read.push(file)
      continue
    }
    try {
      const document = await readDocument(file, workspace)
      read.push(file)
      own = readConfigFile(document, { base: workspace, home }, notices)
    } catch (error) {
      if (!(error instanceof MisuseError)) throw error
      notices.push(`${error.message}; the file is ignored`)
    }
  }
  const variables = readVariables(places.variables, { base: cwd, home })
  const trustedFolders = [...user, ...variables]
    .filter(({ name }) => name === 'trusted_folders')
    .flatMap(({ value }) => value as string[])
  const trusted = isTrusted(workspace, trustedFolders)
  const permitted = restrict(own, user, { trusted, userFile, workspace })
  const entries = [...user, ...permitted.entries, ...variables]
  return {
    read,
    entries,
    values: mergeEntries(entries),
    notices: [...notices, ...permitted.notices],
  }
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
