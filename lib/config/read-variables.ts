import { delimiter } from 'node:path'
import { messageOf, MisuseError } from '../protocol/errors.ts'
import { nearestName } from '../protocol/wire.ts'
import type { Shape } from '../protocol/shape/shape.ts'
import { type Entry, type Folders, readKeyValue, wrongConfiguration } from './entry.ts'
import { keys } from './keys.ts'

/** The entries of variables with their texts. Throws `MisuseError`, which names the variable. */
export function readVariables(
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
