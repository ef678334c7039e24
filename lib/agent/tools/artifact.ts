import { MisuseError } from '../../protocol/errors.ts'
import { lineRangeParams, refuseBoth } from '../../protocol/result/reading.ts'
import * as shape from '../../protocol/shape/shape.ts'
import { toWire } from '../../protocol/wire.ts'
import { describeEarlyEnd, describeParts } from '../../render/messages.ts'
import { boundsOf, readArguments, textResult, type Tool } from './tool.ts'

const params = shape.object(
  { id: shape.text('Which artifact: art_… or artifact://art_…', { hint: 'id' }) },
  {
    ...lineRangeParams,
    grep: shape.text('Only lines that match this regular expression, with their numbers', {
      hint: 'regex',
    }),
    context: shape.integer('With grep: so many lines around each match (default 0)'),
    ignoreCase: shape.boolean('With grep: take a for A (default false)'),
  },
)

export const artifactTool: Tool = {
  name: 'artifact',
  title: 'Read kept output',
  readOnly: true,
  inputSchema: shape.jsonSchema(params),
  description: () =>
    'Reads the complete output of an earlier command, which was too long for its result: by range of lines, from either end, or by search. Every answer is bounded and says where to go on.',
  async call(given, context) {
    const { signal } = context
    const { artifacts } = context.executor
    const args = readArguments(params, given)
    refuseBoth(args, 'grep', ['line', 'column', 'head', 'tail'])
    const { id, grep, context: around = 0, ignoreCase = false, ...wanted } = args
    const bounds = boundsOf(wanted, context)
    const range = { ...wanted, ...bounds }
    if (artifacts === null) {
      throw new MisuseError('not_found', 'No output is kept here: there is no state folder', 'id')
    }
    if (grep === undefined) {
      const read = await artifacts.read(id, range, { signal })
      const { text, line, column, totalLines } = read
      if (text === '')
        return textResult(`(nothing there: ${totalLines} lines)`, false, toWire(read))
      const place = column === 1 ? `offset ${read.nextOffset}` : `line ${line}, column ${column}`
      const goOn = line === null ? '' : `\n[to go on: ${place}]`
      return textResult(`${text.replace(/\n$/, '')}${goOn}`, false, toWire(read))
    }
    const { offset = 0, limit } = range
    const found = await artifacts.grep(id, {
      ...{ pattern: grep, patternField: 'grep', ignoreCase, offset, limit, ...bounds },
      ...{ before: around, after: around, signal },
    })
    const early = describeEarlyEnd(found)
    const why = early === null ? '' : `${early}; `
    const goOn = found.nextOffset === null ? '' : `\n[${why}to go on: offset ${found.nextOffset}]`
    const parts = describeParts(found)
    const notice = parts === null ? '' : `\n[${parts}]`
    const text = found.text.replace(/\n$/, '')
    return textResult(`${text === '' ? '(no lines)' : text}${notice}${goOn}`, false, toWire(found))
  },
}
