import { MisuseError } from '../../protocol/errors.ts'
import { check } from '../../protocol/shape/check.ts'
import { objectSchema } from '../../protocol/shape/json-schema.ts'
import * as shape from '../../protocol/shape/shape.ts'
import { toWire } from '../../protocol/wire.ts'
import { textResult, type Tool } from './tool.ts'

const params = shape.object(
  { id: shape.text('Which artifact: art_… or artifact://art_…', { hint: 'id' }) },
  {
    offset: shape.integer('Lines to pass over, as the call before told'),
    limit: shape.integer('How many lines', { min: 1 }),
    head: shape.integer('The first lines', { min: 1 }),
    tail: shape.integer('The last lines', { min: 1 }),
    grep: shape.text('Only lines that match this regular expression, with their numbers', {
      hint: 'regex',
    }),
  },
)

export const artifactTool: Tool = {
  name: 'artifact',
  title: 'Read kept output',
  readOnly: true,
  inputSchema: objectSchema(params),
  description: () =>
    'Reads the complete output of an earlier command, which was too long for its result: by range of lines, from either end, or by search. Every answer is bounded and says where to go on.',
  async call(given, { executor: { artifacts } }) {
    const { id, grep, ...range } = check(params, given, '', { names: 'wire' })
    if (artifacts === null) {
      throw new MisuseError('not_found', 'No output is kept here: there is no state folder', 'id')
    }
    const read =
      grep === undefined
        ? await artifacts.read(id, range)
        : await artifacts.grep(id, { pattern: grep, ...range })
    const goOn = read.nextOffset === null ? '' : `\n[to go on: offset ${read.nextOffset}]`
    const text = read.text.replace(/\n$/, '')
    return textResult(`${text === '' ? '(no lines)' : text}${goOn}`, false, toWire(read))
  },
}
