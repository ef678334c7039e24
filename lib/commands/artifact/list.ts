import { describeDamaged } from '../../render/messages.ts'
import { type Action, printJson, takeWords } from './action.ts'

/** What there is, newest first: a line each. */
export const listArtifacts: Action = async ({
  artifacts,
  words,
  numbers,
  asJson,
  streams,
  tell,
}) => {
  takeWords(words, 'list')
  const found = (await artifacts.list()).slice(0, numbers['limit'])
  if (asJson) await printJson(streams, { artifacts: found })
  else {
    const rows = found.map(({ id, createdAt, bytes, isLive, complete, stream, command }) => {
      const state = isLive ? 'live' : complete ? '' : 'cut'
      const preview = command.replaceAll(/\s+/g, ' ').slice(0, 60)
      const time = createdAt.slice(0, 19).replace('T', ' ')
      return `${id}  ${time}  ${String(bytes).padStart(11)}  ${state.padEnd(4)}  ${stream.padEnd(6)}  ${preview}\n`
    })
    await streams.stdout.write(rows.join(''))
  }
  for (const line of describeDamaged(await artifacts.listDamaged())) await tell(line)
  return 0
}

/** The file with the raw bytes. */
export const printPath: Action = async ({ artifacts, words, asJson, streams }) => {
  const [id = ''] = takeWords(words, 'path <id>')
  const info = await artifacts.find(id)
  if (asJson) await printJson(streams, info)
  else await streams.stdout.write(`${info.path}\n`)
  return 0
}

/** Removes what is too old or too much; says what went. */
export const pruneArtifacts: Action = async ({ artifacts, words, asJson, streams, tell }) => {
  takeWords(words, 'prune')
  const { removed } = await artifacts.prune()
  if (asJson) await printJson(streams, { removed })
  else {
    await streams.stdout.write(removed.map((id) => `${id}\n`).join(''))
    await tell(`${removed.length} removed`)
  }
  return 0
}
