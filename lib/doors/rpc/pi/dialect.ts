import { createLazy } from '../../../protocol/deferred.ts'
import { messageOf } from '../../../protocol/errors.ts'
import type { Connection } from '../../../wire/connection.ts'
import type { RpcContext } from '../context.ts'
import { type PiCommand, piCommands, type PiState } from './commands.ts'
import { Conversation } from './conversation.ts'

/*
 * The RPC mode of pi (`pi --mode rpc`, package @mariozechner/pi-coding-agent, docs/rpc.md there): a
 * line holds a command with `type` and perhaps an `id` of any kind, which the response repeats. What
 * a command of the shell does, a non-zero exit too, is a success.
 */

export interface PiDialect {
  receive(message: unknown): void
  refuse(why: string): void
  /** Settles when no command is under way. */
  idle(): Promise<void>
  cancelAll(): void
}

export function createPiDialect(context: RpcContext, connection: Connection): PiDialect {
  const agent = createLazy(async () => {
    const { createAgent } = await import('../../../agent/agent.ts')
    return createAgent(context.executor, context.agentSettings())
  })
  const state: PiState = {
    context,
    conversation: new Conversation(context.agentSettings().model, context.executor.artifacts),
    running: new Set(),
    session: null,
    followUps: [],
    working: Promise.resolve(),
    agent: agent.open,
    emit: (event) => connection.stream(`${JSON.stringify(event)}\n`),
  }
  const underWay = new Set<Promise<void>>()

  function respond(response: Record<string, unknown>): void {
    connection.send(`${JSON.stringify(response)}\n`)
  }

  async function perform(command: PiCommand): Promise<void> {
    const { id, type } = command
    const head = { id, type: 'response', command: type }
    try {
      const known = piCommands.get(type)
      if (!known) {
        const name = typeof type === 'string' ? type : JSON.stringify(type)
        throw new Error(`Unknown command: ${name.slice(0, 100)}`)
      }
      const data = await known(command, state)
      respond({ ...head, success: true, ...(data === undefined ? {} : { data }) })
    } catch (error) {
      respond({ ...head, success: false, error: messageOf(error) })
    }
  }

  return {
    receive(message) {
      const command = message as PiCommand
      // This answers a question of an extension, and nacre asks none.
      if (command.type === 'extension_ui_response') return
      const performed = perform(command).finally(() => underWay.delete(performed))
      underWay.add(performed)
    },
    refuse(why) {
      respond({
        type: 'response',
        command: 'parse',
        success: false,
        error: `Failed to parse command: ${why}`,
      })
    },
    idle: async () => void (await Promise.all([...underWay, state.working])),
    cancelAll() {
      for (const running of state.running) running.abort()
      state.session?.cancel()
    },
  }
}
