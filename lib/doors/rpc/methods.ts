import type { Agent } from '../../agent/agent.ts'
import { eventToWire } from '../../agent/events.ts'
import { createInjectionQueue, type InjectionQueue, namesOf } from '../../agent/injection.ts'
import type { AgentSession } from '../../agent/session.ts'
import { describeTools, findTool } from '../../agent/tools/tools.ts'
import type { Approve, Executor } from '../../executor/executor.ts'
import { describeServer, type JobCall, jobHandlers } from '../../executor/jobs/registry.ts'
import type { Reach } from '../../executor/reach.ts'
import { mayOutlive } from '../../executor/wait.ts'
import { createDeferred, type Lazy } from '../../protocol/deferred.ts'
import { MisuseError } from '../../protocol/errors.ts'
import { createId } from '../../protocol/wire.ts'
import { limits } from '../../protocol/limits.ts'
import { parsePrompt } from '../../protocol/prompt.ts'
import type { RequestInput } from '../../protocol/request/request.ts'
import { listenToText } from '../../protocol/result/event.ts'
import type { Result } from '../../protocol/result/result.ts'
import type { MethodName } from '../../protocol/rpc/methods.ts'
import { pick } from '../../protocol/shape/shape.ts'
import { quoteWord, startOf } from '../../protocol/words.ts'
import {
  type AnswerOf,
  bindMethods,
  cancelHandler,
  type Handler as WireHandler,
  type Handlers as WireHandlers,
} from '../../wire/server.ts'
import { notifyOfRun } from '../../wire/messages.ts'

/** One request under way, and what the connection knows of its client. */
export interface Call extends JobCall {
  readonly executor: Executor
  readonly cwd: string
  /** Absent if the client cannot be asked. */
  readonly approve: Approve | undefined
  readonly client: ClientState
}

export interface ClientState {
  supportsApproval: boolean
  /** Takes the tools that the client's model has: the guard may suggest them. */
  learnToolNames: (names: readonly string[]) => void
  /** What the client's own model reaches by `tool.call`. */
  readonly reach: Reach
  /** Runs and artifacts of the client's own commands, which it may tell its model of. */
  readonly handed: Set<string>
  /** Conversations with a model. */
  readonly prompts: Prompts
  /** Commands under way that came as prompts. */
  readonly commands: Set<AbortController>
}

type Handler<Name extends MethodName> = WireHandler<Name, Call>
type Handlers = WireHandlers<Call>

/** Who is there and what each side can do. Not needed before other methods. */
const initialize: Handler<'initialize'> = (
  { toolNames, capabilities = {} },
  { executor, client },
) => {
  client.supportsApproval = capabilities.supportsApproval ?? false
  if (toolNames) client.learnToolNames(toolNames)
  return describeServer(true, executor.artifacts)
}

/** Starts a job. `shell.started` and `shell.exited` are always told, output when it is asked for. */
const shellStart: Handler<'shell.start'> = ({ stream = false, stdin, ...fields }, call) => {
  const { approve, executor } = call
  const input = { streams: 'merged', ...fields, ...readStdin(stdin), origin: 'rpc' } as const
  // A session of this connection lives in this process, and so do its runs.
  const start = fields.session === undefined ? executor.hold : executor.run
  return start({ ...input, mode: 'background' }, { onEvent: notifyOfRun(call, stream), approve })
}

/** Runs a command of the user's and waits for it, unless `shell.detach` lets the caller go. */
const shellExec: Handler<'shell.exec'> = async (params, call) => {
  const { stream, stdin, ...fields } = params
  const timeoutSeconds = limits.shellExecTimeoutSeconds.default
  const input: RequestInput = { timeoutSeconds, streams: 'separate', ...readStdin(stdin) }
  Object.assign(input, fields, { origin: 'rpc' })
  const { executor, signal, approve, peer, client } = call
  const tell = stream ? notifyOfRun(call, true) : undefined
  const leaving = new AbortController()
  const { promise: ended, resolve: end } = createDeferred<Result>()
  const queued = client.prompts.commandsOf().add(ended)
  const isHeld = fields.session === undefined && mayOutlive(executor.parse(input))
  let over = (): void => undefined
  try {
    const result = await (isHeld ? executor.hold : executor.run)(input, {
      signal,
      leaving: leaving.signal,
      approve,
      onEvent(event) {
        if (event.type === 'started') over = peer.wait([event.id], () => leaving.abort())
        if (event.type === 'exited') end(event.result)
        return tell?.(event)
      },
    })
    for (const name of namesOf(result)) client.handed.add(name)
    if (result.status !== 'running') await queued
    return describeExec(result)
  } finally {
    over()
  }
}

/** The text that the command of a client reads. */
function readStdin(text: string | undefined): Pick<RequestInput, 'stdin'> {
  return text === undefined ? {} : { stdin: { kind: 'text', text } }
}

function describeExec(result: Result): AnswerOf<'shell.exec'> {
  const { truncation, stderrTruncation, artifact, stderrArtifact } = result
  const isCut = { stdout: truncation !== null, stderr: (stderrTruncation ?? null) !== null }
  const answer: AnswerOf<'shell.exec'> = {
    ...pick(result, ['id', 'exitCode', 'signal', 'durationMs', 'status', 'reason']),
    // A terminal has one stream only, and so have merged ones.
    stdout: result.stdout ?? result.output ?? '',
    stderr: result.stderr ?? '',
    truncated: { ...isCut, combined: isCut.stdout || isCut.stderr },
    commandPreview: startOf(result.command, limits.commandPreviewChars),
  }
  if (artifact) answer.stdoutCacheId = artifact.id
  if (stderrArtifact) answer.stderrCacheId = stderrArtifact.id
  if (result.jobId !== null) answer.jobId = result.jobId
  if (result.error) answer.error = result.error
  if (result.verdict) answer.verdict = result.verdict
  if (result.sandbox) answer.sandbox = result.sandbox
  if (result.notices.length > 0) answer.notices = result.notices
  return answer
}

const sessionMethods = {
  /** Starts the shell now; otherwise the first run that names it does. */
  'session.open': async ({ name = createId('session'), env, ...fields }, { executor }) => {
    const result = await executor.run({
      ...fields,
      command: exportCommand(env ?? {}),
      session: name,
      origin: 'rpc',
    })
    if (result.error) throw new MisuseError(result.error.code, result.error.message)
    const info = executor.sessions.list().find((session) => session.name === name)
    if (!info) throw new MisuseError('no_session', result.notices[0] ?? 'No session was opened')
    return info
  },
  'session.list': (_, { executor }) => ({ sessions: executor.sessions.list() }),
  'session.close': async ({ name }, { executor }) => ({
    closed: await executor.sessions.close(name),
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
  'tool.list': (_, { cwd, executor }) => ({
    tools: describeTools(cwd, executor, { origin: 'agent' }),
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
  'artifact.read': ({ id, ...range }, { executor, signal }) =>
    artifactsOf(executor).read(id, range, { signal }),
  async 'artifact.bytes'({ id, ...range }, { executor }) {
    const { bytes, ...place } = await artifactsOf(executor).readBytes(id, range)
    return { base64: bytes.toString('base64'), ...place }
  },
  'artifact.grep': ({ id, context: around = 0, ...options }, { executor, signal }) =>
    artifactsOf(executor).grep(id, { ...options, before: around, after: around, signal }),
  async 'artifact.list'(_, { executor }) {
    const artifacts = artifactsOf(executor)
    const damaged = await artifacts.listDamaged()
    return { artifacts: await artifacts.list(), ...(damaged.length > 0 && { damaged }) }
  },
  'artifact.remove': async ({ id }, { executor }) => {
    await artifactsOf(executor).remove(id)
    return { removed: true }
  },
  /** Hosts with a model of their own hand it on to that. */
  tool_output_cache: ({ refId, ...range }, { client, signal }) =>
    artifactsOf(client.reach).read(refId, range, { signal }),
} satisfies Partial<Handlers>

function artifactsOf<Artifacts>({ artifacts }: { artifacts: Artifacts | null }): Artifacts {
  if (artifacts) return artifacts
  throw new MisuseError('not_available', 'No output is kept here: there is no state folder')
}

/** The conversations of one connection. */
export type Prompts = ReturnType<typeof createPrompts>

export function createPrompts(executor: Executor, agent: Lazy<Agent>, approve: Approve) {
  /** By their ids; the one that is meant if none is named has no name here. */
  const sessions = new Map<string | undefined, AgentSession>()
  /** What waits for that one. */
  const ownCommands = createInjectionQueue(executor)

  return {
    /** Rejects with `MisuseError` if there is no such conversation. */
    async open(conversation: string | undefined): Promise<AgentSession> {
      const loaded = await agent.open()
      const found = sessions.get(conversation)
      if (found) return found
      const commands = conversation === undefined ? ownCommands : null
      const session = loaded.open({ resume: conversation ?? null, approve, commands })
      sessions.set(conversation, session)
      sessions.set(session.conversation.id, session)
      return session
    },

    /** Commands of the person that go before the next message of that conversation. */
    commandsOf: (conversation?: string): InjectionQueue =>
      sessions.get(conversation)?.commands ?? ownCommands,

    /** False: no prompt of it is under way. */
    steer: (text: string, conversation?: string): boolean =>
      sessions.get(conversation)?.steer(text) ?? false,

    /** Stops the prompt of that conversation, or all; gives how many. */
    cancel(conversation?: string): number {
      const found =
        conversation === undefined ? new Set(sessions.values()) : [sessions.get(conversation)]
      return [...found].filter((session) => session?.cancel()).length
    },
  }
}

/** Turns of a conversation; `!command` is run without a model. */
const promptMethods = {
  prompt: async ({ text, conversation, share = [], shareWrite = [] }, call) => {
    const { client, id } = call
    const { prompts, commands } = client
    const tell = (event: { type: string }) => call.notify('prompt.event', { request_id: id, event })
    const prompt = parsePrompt(text)
    if (prompt.kind !== 'command') {
      const session = await prompts.open(conversation)
      for (const shared of share) await session.commands.share(shared, 'read')
      for (const shared of shareWrite) await session.commands.share(shared, 'write')
      const answered = session.prompt(text.trim(), { signal: call.signal })
      const stopListening = session.listen(async (event) => {
        // The last event is the result, which the request is answered with.
        if (event.type === 'result') return
        if ((await tell(eventToWire(event))) === 'closed') session.cancel()
      })
      return answered.finally(stopListening)
    }
    const stopping = new AbortController()
    commands.add(stopping)
    try {
      const result = await call.executor.run(
        { command: prompt.command, origin: 'rpc', streams: 'merged', timeoutSeconds: 86_400 },
        {
          signal: AbortSignal.any([call.signal, stopping.signal]),
          // The result of the command is the answer to the request.
          onEvent: listenToText((event) => {
            const { type, id: run } = event
            return tell(type === 'exited' ? ({ type, id: run } as { type: string }) : { ...event })
          }),
          approve: call.approve,
        },
      )
      if (prompt.injected) await prompts.commandsOf(conversation).add(result)
      return { disposition: 'handled', result }
    } finally {
      commands.delete(stopping)
    }
  },
  'prompt.steer': ({ text, conversation }, { client }) => ({
    steered: client.prompts.steer(text, conversation),
  }),
  'prompt.cancel': ({ conversation }, { client }) => {
    const commands = conversation === undefined ? [...client.commands] : []
    for (const command of commands) command.abort()
    return { cancelled: commands.length + client.prompts.cancel(conversation) }
  },
} satisfies Partial<Handlers>

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
