import { isObject } from '../protocol/shape/shape.ts'
import type { Request } from '../protocol/request/request.ts'
import type { ClientMethods } from '../protocol/rpc/messages.ts'
import type { Verdict } from '../protocol/result/verdict.ts'
import { toWire } from '../protocol/wire.ts'

type ApprovalParams = ClientMethods['approval.request']['params']

/** Questions to the client that wait for their answer. */
export interface Approvals {
  /** False where the client says no, answers with an error, or `signal` aborts before. */
  ask(
    request: Pick<Request, 'id' | 'command' | 'cwd'>,
    verdict: Verdict,
    signal: AbortSignal,
  ): Promise<boolean>
  /** Takes a message of the client that answers one of ours; others are passed by. */
  answer(message: Readonly<Record<string, unknown>>): void
}

export function createApprovals(send: (line: string) => void): Approvals {
  const waiting = new Map<unknown, (approved: boolean) => void>()
  let count = 0

  return {
    ask({ id: runId, command, cwd }, verdict, signal) {
      if (signal.aborted) return Promise.resolve(false)
      const id = `approval-${++count}`
      const params = { id: runId, command, cwd, verdict: toWire(verdict) } as ApprovalParams
      send(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'approval.request', params })}\n`)
      return new Promise((resolve) => {
        const settle = (approved: boolean) => {
          waiting.delete(id)
          signal.removeEventListener('abort', onAbort)
          resolve(approved)
        }
        const onAbort = () => settle(false)
        signal.addEventListener('abort', onAbort, { once: true })
        waiting.set(id, settle)
      })
    },
    answer({ id, result }) {
      waiting.get(id)?.(isObject(result) && result['approved'] === true)
    },
  }
}
