import { invalid } from '../../protocol/shape/check.ts'
import { isObject } from '../../protocol/shape/shape.ts'
import { messageOf, MisuseError } from '../../protocol/errors.ts'
import { origins } from '../../protocol/fields.ts'
import type { Origin } from '../../protocol/request.ts'
import { unknownName } from '../../protocol/wire.ts'

/** One command that the guard is asked about. */
export interface Question {
  command: string
  origin: Origin
  cwd?: string
}

const names = ['command', 'origin', 'cwd']

/** Reads a question from a line of JSON. Throws `MisuseError`, which names what is wrong. */
export function parseQuestion(line: string, usual: Omit<Question, 'command'>): Question {
  const given = parseJson(line)
  if (!isObject(given)) throw invalid('line', 'an object with `command`', given)
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  if (unknown !== undefined) throw unknownName('field', unknown, names)
  const { command, origin = usual.origin, cwd = usual.cwd } = given
  if (typeof command !== 'string') throw invalid('command', 'a text', command)
  if (cwd !== undefined && typeof cwd !== 'string') throw invalid('cwd', 'a text', cwd)
  if (!origins.includes(origin as Origin)) {
    throw invalid('origin', `one of ${origins.join(', ')}`, origin)
  }
  return { command, origin: origin as Origin, ...(cwd !== undefined && { cwd }) }
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line) as unknown
  } catch (error) {
    throw new MisuseError('parse_error', `This line is no JSON: ${messageOf(error)}`)
  }
}
