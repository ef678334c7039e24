import { describeTools, findTool } from '../../agent/tools/tools.ts'
import { jobHandlers, protocolVersion } from '../../executor/jobs/methods.ts'
import { MisuseError } from '../../protocol/errors.ts'
import { createId } from '../../protocol/wire.ts'
import type { MethodName } from '../../protocol/rpc/methods.ts'
import { quoteWord } from '../../protocol/words.ts'
import { bindMethods, cancelHandler } from '../../wire/method.ts'
import { notifyOfRun } from '../../wire/run-events.ts'
import type { Call, Handler, Handlers, RpcContext } from './context.ts'
import { promptMethods } from './prompt.ts'
import { shellExec, shellStart } from './shell-exec.ts'

/** Who is there and what each side can do. Not needed before other methods. */
const initialize: Handler<'initialize'> = (
  { toolNames, capabilities = {} },
  { context, client },
) => {
  client.supportsApproval = capabilities.supportsApproval ?? false
  if (toolNames) context.learnToolNames(toolNames)
  return {
    server: { name: 'nacre', version: context.version },
    protocolVersion,
    capabilities: {
      supportsShellExec: true,
      supportsShellTasks: true,
      supportsShellDetach: true,
      supportsSessions: true,
      supportsTools: true,
      supportsArtifacts: context.executor.artifacts !== null,
      supportsPrompt: true,
      supportsCancel: true,
    },
  }
}

const sessionMethods = {
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

/** The model's tools, for hosts that bring their own model. */
const toolMethods = {
  'tool.list': (_, { context }) => ({
    tools: describeTools(context.cwd, context.executor, { origin: 'agent' }),
  }),
  'tool.call': async ({ name, arguments: given = {}, stream }, call) =>
    toolOf(name).call(given, {
      executor: call.client.reach,
      origin: 'agent',
      signal: call.signal,
      onEvent: stream ? notifyOfRun(call, true) : undefined,
      approve: call.approve,
    }),
} satisfies Partial<Handlers>

/** A tool that is not there is a wrong value of the parameter `name`. */
function toolOf(name: string) {
  try {
    return findTool(name.slice(0, 100))
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    throw new MisuseError('invalid_field', error.message, 'name')
  }
}

const artifactMethods = {
  'artifact.read': ({ id, ...range }, { context, signal }) =>
    open(context).read(id, range, { signal }),
  async 'artifact.bytes'({ id, ...range }, { context }) {
    const { bytes, ...place } = await open(context).readBytes(id, range)
    return { base64: bytes.toString('base64'), ...place }
  },
  'artifact.grep': ({ id, context: around = 0, ...options }, { context, signal }) =>
    open(context).grep(id, { ...options, before: around, after: around, signal }),
  async 'artifact.list'(_, { context }) {
    const artifacts = open(context)
    const damaged = await artifacts.listDamaged()
    return { artifacts: await artifacts.list(), ...(damaged.length > 0 && { damaged }) }
  },
  'artifact.remove': async ({ id }, { context }) => {
    await open(context).remove(id)
    return { removed: true }
  },
  tool_output_cache: ({ refId, ...range }, { context, signal }) =>
    open(context).read(refId, range, { signal }),
} satisfies Partial<Handlers>

function open({ executor }: RpcContext): NonNullable<RpcContext['executor']['artifacts']> {
  if (executor.artifacts) return executor.artifacts
  throw new MisuseError('not_available', 'No output is kept here: there is no state folder')
}

/** Every method of the protocol by its name. */
export const methods = bindMethods<Call, MethodName>({
  initialize,
  'shell.exec': shellExec,
  'shell.start': shellStart,
  ...jobHandlers,
  ...sessionMethods,
  ...toolMethods,
  ...artifactMethods,
  ...promptMethods,
  '$/cancel': cancelHandler,
})
