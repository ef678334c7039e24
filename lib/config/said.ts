import { delimiter, resolve } from 'node:path'
import type { ValueNode } from '@humanwhocodes/momoa'
import { messageOf, MisuseError } from '../protocol/errors.ts'
import { parseHostAddress } from '../protocol/request/host-address.ts'
import { check, invalid } from '../protocol/shape/check.ts'
import { isObject, isPath, type Shape } from '../protocol/shape/shape.ts'
import { nearestName, unknownName } from '../protocol/wire.ts'
import { expandHome } from '../protocol/words.ts'
import { isBelow, readRegularFile } from '../system/look.ts'
import { type ConfiguredValues, type Entry, groups, keys, variableOf } from './keys.ts'

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
  /** What holds of each key; those that are fields of a request stand beside. */
  values: ConfiguredValues & Readonly<Record<string, unknown>>
  /** What was ignored, and why: short sentences for the reader. */
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
    const isOwn = file !== userFile
    try {
      const { value, placeOf } = await readDocument(file, isOwn ? workspace : null)
      const ignore = (message: string) => void notices.push(`${message}; it is ignored`)
      const how = { placeOf, base: isOwn ? workspace : home, home, ...(isOwn && { ignore }) }
      const entries = readEntries(listSaid(value), how)
      if (isOwn) own = entries
      else user = entries
      read.push(file)
    } catch (error) {
      if (!isOwn || !(error instanceof MisuseError)) throw error
      notices.push(`${error.message}; the file is ignored`)
    }
  }
  const variables = places.variables.flatMap(([variable, text]) =>
    readEntries(readVariable(variable, text), { placeOf: () => variable, base: cwd, home }),
  )
  const trustedFolders = [...user, ...variables]
    .filter(({ name }) => name === 'trusted_folders')
    .flatMap(({ value }) => value as string[])
  const trusted = isTrusted(workspace, trustedFolders)
  const permitted = restrict(own, user, { trusted, userFile, workspace })
  const entries = [...user, ...permitted.entries, ...variables]
  notices.push(...permitted.notices)
  return { read, entries, values: mergeEntries(entries), notices }
}

/** Everything that is wrong in a configuration is misuse: the place, then one sentence. */
function wrongConfiguration(place: string, message: string): MisuseError {
  return new MisuseError('invalid_configuration', `${place}: ${message}`)
}

/** A JSON file that knows where each of its values stands. */
interface Document {
  value: Record<string, unknown>
  /** `file:line` of the value at a path such as `guard.rules[0].decision`, or of what holds it. */
  placeOf: (path: string) => string
}

/**
 * Reads a file of JSON; comments and trailing commas are fine. Throws `MisuseError` where it cannot be read or
 * is no object. `within`: the folder that links may not lead out of.
 */
export async function readDocument(file: string, within: string | null = null): Promise<Document> {
  let text: string
  try {
    text = readRegularFile(file, within).replace(/^\uFEFF/, '')
  } catch (error) {
    throw wrongConfiguration(file, `The configuration cannot be read: ${messageOf(error)}`)
  }
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
  const lineOf = (path: string) => findLine(body, path.split(/[.[\]]+/).filter(Boolean))
  return { value, placeOf: (path) => `${file}:${lineOf(path)}` }
}

/** The line of a member's name or of an element, as far as the path leads. */
function findLine(node: ValueNode, [name, ...rest]: readonly string[]): number {
  if (name !== undefined && node.type === 'Object') {
    const member = node.members.findLast(
      ({ name: key }) => (key.type === 'String' ? key.value : key.name) === name,
    )
    if (member) return rest.length === 0 ? member.loc.start.line : findLine(member.value, rest)
  }
  const element = node.type === 'Array' ? node.elements[Number(name)] : undefined
  return element ? findLine(element.value, rest) : node.loc.start.line
}

/** Each key of a file with its value; those of a group as `group.key`. */
function listSaid(said: Readonly<Record<string, unknown>>): [string, unknown][] {
  return Object.entries(said).flatMap(([name, held]): [string, unknown][] => {
    // `$schema` is there for editors, which find the JSON Schema by it.
    if (name === '$schema') return []
    // `"guard": false` is short for `"guard": { "enabled": false }`.
    if (typeof held === 'boolean' && keys.has(`${name}.enabled`)) return [[`${name}.enabled`, held]]
    if (!groups.has(name) || !isObject(held)) return [[name, held]]
    return Object.entries(held).map(([key, item]) => [`${name}.${key}`, item])
  })
}

/** The key that a variable sets, with its value; nothing where the variable may be anybody's. */
function readVariable(variable: string, text: string): [string, unknown][] {
  const found = [...keys].find(([name]) => variableOf(name) === variable)
  if (found) return [[found[0], parseText(text, found[1].shape)]]
  // One that is nearly ours was meant to be it.
  const word = variable.slice('NACRE_'.length)
  const known = [...keys.keys()].flatMap((name) => variableOf(name)?.slice('NACRE_'.length) ?? [])
  const nearest = nearestName(word, known, Math.max(1, word.length / 6))
  if (nearest === null) return []
  throw wrongConfiguration(variable, `Unknown variable; did you mean \`NACRE_${nearest}\`?`)
}

const switches: Readonly<Record<string, boolean>> = {
  ...{ 1: true, true: true, on: true, yes: true },
  ...{ 0: false, false: false, off: false, no: false },
}

/** A text as the value that it stands for; where it stands for none, the check says so. */
function parseText(text: string, shape: Shape): unknown {
  const types = (shape.anyOf ?? [shape]).map(({ type }) => type)
  if (types.includes('string')) return text
  if (shape.items?.type === 'string') {
    return text.split(delimiter).filter((path) => path !== '')
  }
  const isOn = types.includes('boolean') ? switches[text.toLowerCase()] : undefined
  if (isOn !== undefined) return isOn
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

interface ReadingOf {
  placeOf: (path: string) => string
  /** Where relative paths begin; absolute. */
  base: string
  /** What `~` stands for. */
  home: string
  /** Is told what is wrong, which is then left out. Default: that is thrown. */
  ignore?: (message: string) => void
}

/** Each key that is said, checked. */
function readEntries(said: readonly [string, unknown][], how: ReadingOf): Entry[] {
  return said.flatMap(([name, value]) => {
    try {
      return [readEntry(name, value, how)]
    } catch (error) {
      if (!(error instanceof MisuseError)) throw error
      const wrong = wrongConfiguration(how.placeOf(error.field ?? ''), error.message)
      if (!how.ignore) throw wrong
      how.ignore(wrong.message)
      return []
    }
  })
}

/** Throws `MisuseError`, whose `field` is the path of what is wrong: `guard.rules[0].decision`. */
function readEntry(name: string, value: unknown, { placeOf, base, home }: ReadingOf): Entry {
  if (groups.has(name)) throw invalid(name, 'an object', value)
  const key = keys.get(name)
  if (key === undefined) throw unknownName('key', name, [...keys.keys(), ...groups])
  const checked = check(key.shape, value, name, { names: 'wire', called: 'key' })
  const place = placeOf(name)
  if (name === 'hosts') {
    for (const [host, address] of Object.entries(checked as Record<string, string>)) {
      parseHostAddress(address, `hosts.${host}`)
    }
  }
  if (name === 'guard.rules') {
    // A rule without a name is known by its place.
    const rules = (checked as object[]).map((rule, index) => ({
      name: placeOf(`${name}[${index}]`),
      ...rule,
    }))
    return { name, value: rules, place }
  }
  return { name, value: completePaths(checked, key.shape, base, home), place }
}

function completePaths(value: unknown, shape: Shape, base: string, home: string): unknown {
  const { items } = shape
  if (items) return (value as unknown[]).map((item) => completePaths(item, items, base, home))
  return isPath(shape) ? resolve(base, expandHome(String(value), home)) : value
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
    const { name, value, place } = entry
    const isOfUser = name === 'trusted_folders'
    if (trusted && !isOfUser) return [entry]
    const right = keys.get(name)?.workspace
    const current = user.findLast((said) => said.name === name)?.value
    if (right?.(value, current, workspace)) {
      return [name === 'guard.rules' ? { ...entry, value: markUntrusted(value) } : entry]
    }
    const may = right ? 'may only tighten it' : 'may not set it'
    const reason = isOfUser
      ? `it is read from ${userFile} only`
      : `a workspace ${may}, unless its folder is in \`trusted_folders\` of ${userFile}`
    notices.push(`${place}: \`${name}\` is ignored: ${reason}`)
    return []
  })
  return { entries, notices }
}

/** The rules of a workspace may tighten what holds, and lift nothing: each is marked as such. */
function markUntrusted(rules: unknown): object[] {
  return (rules as object[]).map((rule) => ({ ...rule, untrusted: true }))
}

/** The last one wins, or adds to those before it where the key adds up. */
function mergeEntries(entries: readonly Entry[]): Said['values'] {
  const values: Record<string, unknown> = {}
  for (const { name, value } of entries) {
    const former = keys.get(name)?.addsUp ? values[name] : undefined
    if (former === undefined) values[name] = value
    else if (Array.isArray(former)) values[name] = former.concat(value)
    else values[name] = { ...(former as object), ...(value as object) }
  }
  return values
}
