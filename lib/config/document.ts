import { lstatSync } from 'node:fs'
import { dirname } from 'node:path'
import type { ValueNode } from '@humanwhocodes/momoa'
import { isObject } from '../protocol/shape/shape.ts'
import { codeOf, messageOf, MisuseError } from '../protocol/errors.ts'
import { readRegularFile } from '../system/look.ts'

/** Everything that is wrong in a configuration is misuse: the place, then one sentence. */
export function wrongConfiguration(place: string, message: string): MisuseError {
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
 * Reads a file of JSON; comments and trailing commas are fine. Null where there is none. Throws
 * `MisuseError` where it cannot be read or is no object. `within`: the folder that links may not lead out of.
 */
export async function readDocument(
  file: string,
  within: string | null = null,
): Promise<Document | null> {
  const text = readText(file, within)
  if (text === null) return null
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

function readText(file: string, within: string | null): string | null {
  try {
    return readRegularFile(file, within).replace(/^\uFEFF/, '')
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return null
    // After `su` or `sudo -u`, HOME may be a folder of another user: none of its files is this one's.
    if (codeOf(error) === 'EACCES' && isWithAnother(file)) return null
    throw wrongConfiguration(file, `The configuration cannot be read: ${messageOf(error)}`)
  }
}

/** Whether it cannot even be seen, and the innermost folder on its way that can be is somebody else's. */
function isWithAnother(file: string): boolean {
  const innermost = findVisible(file)
  return innermost !== file && lstatSync(innermost).uid !== process.geteuid?.()
}

function findVisible(path: string): string {
  try {
    lstatSync(path)
    return path
  } catch {
    return findVisible(dirname(path))
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
