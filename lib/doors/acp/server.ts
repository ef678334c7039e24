import { Readable } from 'node:stream'
import { whenAborted } from '../../protocol/deferred.ts'
import {
  agent as createApp,
  type ContentBlock,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type StopReason,
} from '@agentclientprotocol/sdk'
import { type Agent, createAgent } from '../../agent/agent.ts'
import { parsePrompt } from '../../protocol/prompt.ts'
import type { PromptResult } from '../../protocol/result/result.ts'
import type { AgentSettings } from '../../agent/settings.ts'
import type { Executor } from '../../executor/executor.ts'
import { messageOf, MisuseError } from '../../protocol/errors.ts'
import type { Streams } from '../streams.ts'
import { type AcpSession, openSession, type Client } from './session.ts'

export interface AcpContext {
  executor: Executor
  settings: AgentSettings
  streams: Streams
  /** Aborts when a signal ends nacre. */
  signal: AbortSignal
  version: string
}

/** Serves one editor until its end of input; gives the exit status. */
export async function serveAcp(context: AcpContext): Promise<number> {
  const { executor, settings, streams, signal, version } = context
  const agent: Agent = createAgent(executor, settings)
  const sessions = new Map<string, AcpSession>()

  function find(id: string): AcpSession {
    const session = sessions.get(id)
    if (session) return session
    throw RequestError.invalidParams(undefined, `There is no session \`${id}\`; make or load one`)
  }

  function open(client: Client, cwd: string, resume: string | null): AcpSession {
    const session = openSession({ agent, executor, client, cwd, resume })
    sessions.set(session.id, session)
    return session
  }

  const app = createApp({ name: 'nacre' })
    .onRequest(methods.agent.initialize, ({ params }) => ({
      protocolVersion: Math.min(params.protocolVersion, PROTOCOL_VERSION),
      agentInfo: { name: 'nacre', title: 'nacre', version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: false, audio: false, embeddedContext: true },
        sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
      },
      authMethods: [],
    }))
    .onRequest(methods.agent.session.new, ({ params, client }) =>
      asProtocolError(() => ({ sessionId: open(client, params.cwd, null).id })),
    )
    .onRequest(methods.agent.session.load, ({ params, client }) =>
      asProtocolError(async () => {
        await open(client, params.cwd, params.sessionId).replay()
        return {}
      }),
    )
    .onRequest(methods.agent.session.resume, ({ params, client }) =>
      asProtocolError(() => {
        open(client, params.cwd, params.sessionId)
        return {}
      }),
    )
    .onRequest(methods.agent.session.list, ({ params }) => ({
      sessions: agent.conversations
        .list()
        .filter(({ cwd }) => typeof params.cwd !== 'string' || cwd === params.cwd)
        .map(({ id, cwd, title, updatedAt }) => ({ sessionId: id, cwd, title, updatedAt })),
    }))
    .onRequest(methods.agent.session.close, ({ params }) => {
      sessions.get(params.sessionId)?.cancel()
      sessions.delete(params.sessionId)
      return {}
    })
    .onRequest(methods.agent.session.delete, ({ params }) =>
      asProtocolError(() => {
        sessions.get(params.sessionId)?.cancel()
        sessions.delete(params.sessionId)
        agent.conversations.remove(params.sessionId)
        return {}
      }),
    )
    .onRequest(methods.agent.session.prompt, ({ params, signal }) =>
      asProtocolError(async () => {
        const session = find(params.sessionId)
        const text = readBlocks(params.prompt)
        const prompt = parsePrompt(text)
        if (prompt.kind !== 'command') return endOf(await session.prompt(text.trim(), signal))
        const isCancelled = await session.run(prompt.command, prompt.injected, signal)
        return { stopReason: isCancelled ? ('cancelled' as const) : ('end_turn' as const) }
      }),
    )
    .onNotification(methods.agent.session.cancel, ({ params }) => {
      sessions.get(params.sessionId)?.cancel()
    })

  const output = new WritableStream<Uint8Array>({
    write: async (bytes) => void (await streams.stdout.write(bytes)),
  })
  const input = Readable.toWeb(streams.stdin) as ReadableStream<Uint8Array>
  const connection = app.connect(ndJsonStream(output, input))
  await Promise.race([connection.closed, whenAborted(signal)])
  for (const session of sessions.values()) session.cancel(signal.reason)
  connection.close()
  return 0
}

/** How a prompt ended, as the protocol tells it; a failure is an error of the request. */
function endOf({ status, error }: PromptResult): { stopReason: StopReason } {
  switch (status) {
    case 'answered':
      return { stopReason: 'end_turn' }
    case 'cancelled':
      return { stopReason: 'cancelled' }
    case 'limit':
      return { stopReason: 'max_turn_requests' }
    case 'failed':
      if (error?.code === 'refused') return { stopReason: 'refusal' }
      throw RequestError.internalError({ code: error?.code }, error?.message)
  }
}

/** What an editor sends along: texts, files by their text, files by their name. */
function readBlocks(blocks: readonly ContentBlock[]): string {
  return blocks
    .map((block) => {
      switch (block.type) {
        case 'text':
          return block.text
        case 'resource_link':
          return block.uri
        case 'resource':
          return 'text' in block.resource
            ? `\n<file uri=${JSON.stringify(block.resource.uri)}>\n${block.resource.text}\n</file>\n`
            : block.resource.uri
        default:
          throw new MisuseError(
            'invalid_field',
            `A prompt cannot hold ${block.type} here`,
            'prompt',
          )
      }
    })
    .join('')
}

async function asProtocolError<T>(act: () => T | Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    throw RequestError.invalidParams({ code: error.code }, messageOf(error))
  }
}
