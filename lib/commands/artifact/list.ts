import { describeDamaged } from '../../render/messages.ts'
import { answer, tell, wantsJson } from '../answer.ts'
import { type Action, takeWords } from './action.ts'

/** What there is, newest first: a line each. */
export const listArtifacts: Action = async (context) => {
  const { artifacts, words, numbers } = context
  takeWords(words, 'list')
  const found = (await artifacts.list()).slice(0, numbers['limit'])
  const rows = found.map(({ id, createdAt, bytes, isLive, complete, stream, command }) => {
    const state = isLive ? 'live' : complete ? '' : 'cut'
    const preview = command.replaceAll(/\s+/g, ' ').slice(0, 60)
    const time = createdAt.slice(0, 19).replace('T', ' ')
    return `${id}  ${time}  ${String(bytes).padStart(11)}  ${state.padEnd(4)}  ${stream.padEnd(6)}  ${preview}\n`
  })
  await answer(context, { artifacts: found }, rows.join(''))
  for (const line of describeDamaged(await artifacts.listDamaged())) await tell(context, line)
  return 0
}

/** The file with the raw bytes. */
export const printPath: Action = async (context) => {
  const [id = ''] = takeWords(context.words, 'path <id>')
  const info = await context.artifacts.find(id)
  await answer(context, info, `${info.path}\n`)
  return 0
}

/** Removes what is too old or too much; says what went. */
export const pruneArtifacts: Action = async (context) => {
  takeWords(context.words, 'prune')
  const { removed } = await context.artifacts.prune()
  await answer(context, { removed }, removed.map((id) => `${id}\n`).join(''))
  if (!wantsJson(context)) await tell(context, `${removed.length} removed`)
  return 0
}
