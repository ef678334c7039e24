import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { RunOptions } from '../../executor/executor.ts'
import { MisuseError } from '../../protocol/errors.ts'
import type { RequestInput } from '../../protocol/request.ts'
import type { Result } from '../../protocol/result.ts'
import { nameOrder, type OrderFiles, writeOrder } from './order.ts'
import { readReports } from './relay.ts'
import { makePrivateFolder } from '../../system/private-files.ts'
import { isRefusedByPlace, makeFilledFolder } from '../../system/temporary-folder.ts'

export interface Supervision {
  /** The words that start nacre once more. */
  program: readonly string[]
  environment: Readonly<Record<string, string | undefined>>
  stateDir: string
  /** Null: that of the state. */
  artifactDir: string | null
}

/** Of a run that this process may itself be part of; what is held to outlive it is not. */
const marks = ['NACRE', 'NACRE_RUN', 'NACRE_OWNER']

/**
 * Takes a command through the executor of a process of its own, which lives as long as the run. The
 * same as `Executor.run`, but that the run goes on when this process ends. Aborting `signal` stops it.
 */
export async function runSupervised(
  supervision: Supervision,
  input: RequestInput,
  { signal, onEvent }: Pick<RunOptions, 'signal' | 'onEvent'>,
): Promise<Result> {
  const order = placeOrder(join(supervision.stateDir, 'jobs'), input)
  const supervisor = start(supervision, order, input)
  const stop = () => supervisor.kill('SIGTERM')
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop, { once: true })
  try {
    for await (const report of readReports(supervisor.stdout)) {
      if ('result' in report) return report.result
      if ('misuse' in report) {
        const { code, message, field } = report.misuse
        throw new MisuseError(code, message, field)
      }
      await onEvent?.(report.event)
    }
    throw new Error(`The supervisor ended without an answer: ${readLog(order)}`)
  } finally {
    signal?.removeEventListener('abort', stop)
    supervisor.stdout.destroy()
    supervisor.unref()
    order.remove()
  }
}

interface PlacedOrder extends OrderFiles {
  /** Once it has been answered. */
  remove(): void
}

/** In the folder of the jobs; where that cannot be written the run goes on without being known as a job. */
function placeOrder(jobsDir: string, input: RequestInput): PlacedOrder {
  const order = nameOrder(jobsDir)
  try {
    makePrivateFolder(jobsDir)
    writeOrder(order, input)
    return { ...order, remove: () => undefined }
  } catch (error) {
    if (!isRefusedByPlace(error)) throw error
  }
  const name = 'order'
  const folder = makeFilledFolder(name, (made) => writeOrder(nameOrder(made, name), input))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  return { ...nameOrder(folder, name), remove }
}

function start(
  { program, environment, artifactDir }: Supervision,
  order: OrderFiles,
  input: RequestInput,
) {
  const [file = '', ...words] = program
  const { stdin, cwd, workspace } = input
  // By them the supervisor finds the same configuration.
  const options = Object.entries({ 'artifact-dir': artifactDir, cwd, workspace }).flatMap(
    ([name, value]) => (value ? [`--${name}`, value] : []),
  )
  const given = stdin?.kind === 'descriptor' && input.openStdin !== true
  const env = Object.fromEntries(
    Object.entries(environment).filter(([name]) => !marks.includes(name)),
  )
  const log = openSync(order.log, 'a')
  try {
    const supervisor = spawn(file, [...words, 'supervise', order.request, ...options], {
      detached: true,
      env,
      stdio: [given ? 'inherit' : 'ignore', 'pipe', log],
    })
    // Told by the end of its stdout.
    supervisor.on('error', () => undefined)
    return Object.assign(supervisor, { stdout: supervisor.stdout as Readable })
  } finally {
    closeSync(log)
  }
}

function readLog(order: OrderFiles): string {
  const said = readFileSync(order.log, 'utf8').trim()
  rmSync(order.log)
  rmSync(order.request, { force: true })
  return said || 'it said nothing'
}
