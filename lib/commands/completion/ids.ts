import { join } from 'node:path'
import { createConversationStore } from '../../agent/conversations/store.ts'
import { openJobs } from '../../executor/jobs/jobs.ts'
import { unknownName } from '../../protocol/wire.ts'
import type { CommandContext, IdKind } from '../../doors/command.ts'

interface Named {
  id: string
  /** What a person knows it by. */
  title: string
}

const lists: Readonly<Record<IdKind, (context: CommandContext) => Promise<Named[]>>> = {
  async jobs({ stateDir }) {
    const entries = await openJobs(join(stateDir, 'jobs')).list()
    return entries.map(({ id, status, command }) => ({ id, title: `${status} ${command}` }))
  },
  async artifacts({ useExecutor }) {
    const named: Named[] = []
    await useExecutor(async ({ artifacts }) => {
      const found = (await artifacts?.list()) ?? []
      named.push(...found.map(({ id, command }) => ({ id, title: command })))
      return 0
    })
    return named
  },
  async conversations({ stateDir }) {
    const store = createConversationStore({
      folder: join(stateDir, 'conversations'),
      redact: (text) => text,
    })
    return store.list().map(({ id, title }) => ({ id, title }))
  },
}

const maxOffered = 100
const titleChars = 60

/** What there is now, for the scripts of the shells: a line each, the id, a tab, and what it is. */
export async function listIds(kind: string, context: CommandContext): Promise<string> {
  if (!Object.hasOwn(lists, kind)) throw unknownName('kind', kind, Object.keys(lists))
  const named = await lists[kind as IdKind](context)
  return named
    .slice(0, maxOffered)
    .map(
      ({ id, title }) => `${id}\t${title.replaceAll(/[\s\p{C}]+/gu, ' ').slice(0, titleChars)}\n`,
    )
    .join('')
}
