import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { codeOf, MisuseError } from '../../protocol/errors.ts'
import { fromWire, toWire } from '../../protocol/wire.ts'

/** What one nacre asks of another about a job that the other holds. */
export type JobCall = { jobId: string } & (
  | { method: 'show' }
  | { method: 'read'; cursor: number }
  | { method: 'wait'; timeoutSeconds: number }
  | { method: 'write'; text: string; end: boolean }
  | { method: 'kill' }
)

export type JobAnswer = { result: unknown } | { error: { code: string; message: string } }

/** The owner of a job cannot be asked any more: it has ended, or is about to. */
export class OwnerGone extends Error {
  override readonly name = 'OwnerGone'
}

/**
 * Asks the owner of a job through its socket. Rejects with `MisuseError` where the owner refuses, and
 * with `OwnerGone`.
 */
export async function callOwner(path: string, call: JobCall): Promise<unknown> {
  const answer = await exchange(path, `${JSON.stringify(toWire(call))}\n`)
  if (answer === null) throw new OwnerGone('The nacre that held the job has ended')
  const parsed = fromWire(JSON.parse(answer)) as JobAnswer
  if ('error' in parsed) throw new MisuseError(parsed.error.code, parsed.error.message)
  return parsed.result
}

/** Gives the line that comes back; null where nobody answers. */
function exchange(path: string, line: string): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    let settled = false
    const settle = (answer: string | null) => {
      settled = true
      socket.destroy()
      resolve(answer)
    }
    socket.on('error', (error) => {
      const code = codeOf(error)
      const gone = ['ENOENT', 'ECONNREFUSED', 'EPIPE', 'ECONNRESET'].includes(code ?? '')
      if (gone) settle(null)
      else reject(error)
    })
    socket.on('connect', () => socket.write(line))
    const lines = createInterface({ input: socket })
    // It says again what its input has said.
    lines.on('error', () => undefined)
    lines.once('line', settle)
    lines.once('close', () => {
      if (!settled) settle(null)
    })
  })
}
