import { MisuseError } from '../../protocol/errors.ts'
import { createId } from '../../protocol/ids.ts'
import { quoteWord } from '../../protocol/words.ts'
import type { Handlers } from './context.ts'

export const sessions = {
  /** Starts the shell now, where the first run that names it would do so. */
  'session.open': async ({ name = createId('session'), env, ...fields }, { context }) => {
    const result = await context.executor.run({
      ...fields,
      command: exportCommand(env ?? {}),
      session: name,
      origin: 'rpc',
    })
    if (result.error) throw new MisuseError(result.error.code, result.error.message)
    const info = context.executor.sessions.list().find((session) => session.name === name)
    if (!info) throw new MisuseError('no_session', result.notices[0] ?? 'No session was opened')
    return info
  },
  'session.list': (_, { context }) => ({ sessions: context.executor.sessions.list() }),
  'session.close': async ({ name }, { context }) => ({
    closed: await context.executor.sessions.close(name),
  }),
} satisfies Partial<Handlers>

/** `env` of a run is lent for that run; a session is to keep it. */
function exportCommand(env: Readonly<Record<string, string>>): string {
  const assignments = Object.entries(env).map(([variable, value]) => {
    if (/^[A-Za-z_]\w*$/.test(variable)) return `${variable}=${quoteWord(value)}`
    throw new MisuseError('invalid_field', `A shell has no variable named \`${variable}\``, 'env')
  })
  return assignments.length === 0 ? ':' : `export ${assignments.join(' ')}`
}
