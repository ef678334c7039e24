import { MisuseError } from '../../protocol/errors.ts'
import { schemaOfParams } from '../../protocol/json-schema.ts'
import { createParamCheck, type Params } from '../../protocol/params.ts'
import { toWire } from '../../protocol/wire.ts'
import { textResult, type Tool } from './tool.ts'

const count = { kind: 'integer', min: 1, max: Number.MAX_SAFE_INTEGER } as const

const skipped = { ...count, min: 0 } as const

const params: Params = {
  id: {
    type: { kind: 'string', hint: 'id' },
    description: 'Which artifact: art_… or artifact://art_…',
    required: true,
  },
  offset: { type: skipped, description: 'Lines to pass over, as the call before told' },
  limit: { type: count, description: 'How many lines' },
  head: { type: count, description: 'The first lines' },
  tail: { type: count, description: 'The last lines' },
  grep: {
    type: { kind: 'string', hint: 'regex' },
    description: 'Only lines that match this regular expression, with their numbers',
  },
}

const checkParams = createParamCheck(params)

interface ArtifactArguments {
  id: string
  offset?: number
  limit?: number
  head?: number
  tail?: number
  grep?: string
}

export const artifactTool: Tool = {
  name: 'artifact',
  title: 'Read kept output',
  readOnly: true,
  inputSchema: schemaOfParams(params),
  description: () =>
    'Reads the complete output of an earlier command, which was too long for its result: by range of lines, from either end, or by search. Every answer is bounded and says where to go on.',
  async call(given, { executor: { artifacts } }) {
    const { id, grep, ...range } = checkParams(given) as unknown as ArtifactArguments
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
