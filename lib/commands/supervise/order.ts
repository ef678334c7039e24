import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createId } from '../../protocol/ids.ts'
import type { RequestInput } from '../../protocol/request/request.ts'
import { fromWire, toWire } from '../../protocol/wire.ts'

/** The files by which a supervisor is told what to run, in the folder of the jobs. */
export interface OrderFiles {
  request: string
  /** What the supervisor itself says on its stderr: nothing, unless it fails. */
  log: string
}

export function nameOrder(dir: string, name = createId('order')): OrderFiles {
  const base = join(dir, name)
  return { request: `${base}.request`, log: `${base}.log` }
}

/**
 * Makes both files; where one cannot be made, none stays. The request is not on a command line, since
 * it may hold secrets in its environment.
 */
export function writeOrder({ request, log }: OrderFiles, input: RequestInput): void {
  try {
    writeFileSync(request, JSON.stringify(toWire(input)), { mode: 0o600, flag: 'wx' })
    writeFileSync(log, '', { mode: 0o600, flag: 'wx' })
  } catch (error) {
    for (const path of [request, log]) rmSync(path, { force: true })
    throw error
  }
}

export function takeOrder(path: string): RequestInput {
  const input = fromWire(JSON.parse(readFileSync(path, 'utf8'))) as RequestInput
  rmSync(path)
  return input
}

/** The log that belongs to a request. */
export function logOf(requestPath: string): string {
  return requestPath.replace(/\.request$/, '.log')
}
