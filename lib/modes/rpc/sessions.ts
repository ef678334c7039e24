import { MisuseError } from '../../protocol/errors.ts'
import { createId } from '../../protocol/ids.ts'
import { fieldParams, type Param } from '../../protocol/params.ts'
import { toWire } from '../../protocol/wire.ts'
import { quoteWord } from '../../system/programs.ts'
import { defineMethod, type Method, noParams } from './method.ts'

const name: Param = { type: { kind: 'string', hint: 'name' }, description: 'Its name' }

interface OpenParams {
  name?: string
  cwd?: string
  env?: Record<string, string>
  shell?: string
}

export const sessions: Readonly<Record<string, Method>> = {
  /** Starts the shell now, where the first run that names it would do so. */
  'session.open': defineMethod(
    { name, ...fieldParams(['cwd', 'env', 'shell']) },
    async ({ name = createId('session'), env, ...fields }: OpenParams, { context }) => {
      const result = await context.executor.run({
        ...fields,
        command: exportCommand(env ?? {}),
        session: name,
        origin: 'rpc',
      })
      if (result.error) throw new MisuseError(result.error.code, result.error.message)
      const info = context.executor.sessions.list().find((session) => session.name === name)
      if (!info) throw new MisuseError('no_session', result.notices[0] ?? 'No session was opened')
      return toWire(info)
    },
  ),
  'session.list': defineMethod(noParams, (_, { context }) => ({
    sessions: toWire(context.executor.sessions.list()),
  })),
  'session.close': defineMethod(
    { name: { ...name, required: true } },
    async ({ name }: { name: string }, { context }) => ({
      closed: await context.executor.sessions.close(name),
    }),
  ),
}

/** `env` of a run is lent for that run; a session is to keep it. */
function exportCommand(env: Readonly<Record<string, string>>): string {
  const assignments = Object.entries(env).map(([variable, value]) => {
    if (/^[A-Za-z_]\w*$/.test(variable)) return `${variable}=${quoteWord(value)}`
    throw new MisuseError('invalid_field', `A shell has no variable named \`${variable}\``, 'env')
  })
  return assignments.length === 0 ? ':' : `export ${assignments.join(' ')}`
}
