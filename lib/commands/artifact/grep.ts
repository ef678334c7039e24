import { describeEarlyEnd } from '../../render/messages.ts'
import { answer, tell, wantsJson } from '../answer.ts'
import { type Action, takeWords } from './action.ts'

/** The statuses of grep(1), and that of timeout(1) where the time was over. */
const statuses = { found: 0, none: 1, timedOut: 124 } as const

/** Lines that match, with their numbers. */
export const grepArtifact: Action = async (context) => {
  const { artifacts, words, numbers, options } = context
  const [id = '', pattern = ''] = takeWords(words, 'grep <id> <pattern>')
  const { context: both = 0, limit, offset = 1 } = numbers
  const found = await artifacts.grep(id, {
    pattern,
    ignoreCase: options['ignore-case'] === true,
    before: numbers['before-context'] ?? both,
    after: numbers['after-context'] ?? both,
    offset: Math.max(offset, 1) - 1,
    limit,
    maxLines: numbers['max-lines'],
    maxBytes: numbers['max-bytes'],
  })
  const { text, matches, places, timedOut, passedOver } = found
  const next = found.nextOffset === null ? null : found.nextOffset + 1
  const told = { id, text, matches, places, nextOffset: next, timedOut, passedOver }
  await answer(context, told, text)
  if (next !== null && !wantsJson(context))
    await tell(
      context,
      `${describeEarlyEnd(found) ?? 'there is more'}; go on with --offset ${next}`,
    )
  if (matches > 0) return statuses.found
  return timedOut ? statuses.timedOut : statuses.none
}
