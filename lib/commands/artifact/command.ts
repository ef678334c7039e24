import { MisuseError } from '../../protocol/errors.ts'
import { lineRangeParams } from '../../protocol/result/reading.ts'
import { option, toggle } from '../../protocol/request/flag.ts'
import * as shape from '../../protocol/shape/shape.ts'
import { checkActionFlags, fieldFlags, flagsOf } from '../action-flags.ts'
import type { Command } from '../../doors/command.ts'
import { answerFlags, chooseAction } from '../answer.ts'
import { type ActionContext, artifactActions } from './actions.ts'

const { limit, line, column, head, tail, maxLines, maxBytes } = lineRangeParams
const count = shape.integer()

export const command: Command = {
  name: 'artifact',
  usage: 'nacre artifact list|show|grep|path|prune …',
  description: 'Read the complete output that earlier runs left',
  flags: [
    ...flagsOf(
      ['show', 'grep'],
      [option('offset', count, 'Begin at this line, counted from 1 (with --raw: byte)')],
    ),
    ...flagsOf(
      ['show', 'grep', 'list'],
      [option('limit', limit, 'At most so many lines (with --raw: bytes), matches, or artifacts')],
    ),
    ...flagsOf(['show'], fieldFlags({ line, column, head, tail })),
    ...flagsOf(['show', 'grep'], fieldFlags({ maxLines, maxBytes })),
    ...flagsOf(['show'], [toggle('raw', 'The bytes as the command wrote them')]),
    ...flagsOf(
      ['grep'],
      [
        toggle('ignore-case', 'a and A are the same', { short: 'i' }),
        option('after-context', count, 'So many lines after each match', { short: 'A' }),
        option('before-context', count, 'So many lines before each match', { short: 'B' }),
        option('context', count, 'So many lines on both sides', { short: 'C' }),
      ],
    ),
    option(
      'artifact-dir',
      shape.text('', { hint: 'dir' }),
      'The folder, where it is not the usual one',
    ),
    ...answerFlags,
  ],
  details: [
    '  list                     what there is, newest first',
    '  show <id>                its text, cleaned, at most 2000 lines or 50 KiB a call',
    '  grep <id> <pattern>      its lines that match a regular expression, with their numbers',
    '  path <id>                the file with the raw bytes, for any other tool',
    '  prune                    remove now what is too old or too much',
    '',
    'An id may be written as artifact://<id>. Where there is more, stderr says how to go on.',
    'Exit status: 0; of grep 1 where no line matches, 124 where the time was over before one did;',
    'of prune 1 where something cannot be removed.',
  ],
  takesIds: { artifacts: ['show', 'grep', 'path'] },
  examples: [
    'nacre artifact list --limit 10',
    "nacre artifact show $(nacre -c 'seq 9999' --artifact always --output-format json | grep -o 'art_[a-z0-9]*' | head -1) --tail 3",
    'nacre artifact prune',
  ],
  async run({ positionals, options, streams, useExecutor }) {
    const [name = '', ...words] = positionals
    const action = chooseAction(artifactActions, name, command.usage)
    checkActionFlags('nacre artifact', name, command.flags, options)
    return useExecutor(({ artifacts }) => {
      if (artifacts === null) throw new MisuseError('not_found', 'No artifacts are kept here')
      const numbers = options as ActionContext['numbers']
      return action({ artifacts, words, numbers, options, streams })
    })
  },
}
