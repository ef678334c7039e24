import type { Readable } from 'node:stream'
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { RunOptions } from '../../executor/executor.ts'
import { codeOf, messageOf, MisuseError } from '../../protocol/errors.ts'
import type { RequestInput } from '../../protocol/request/request.ts'
import type { Result } from '../../protocol/result/result.ts'
import { nameOrder, type OrderFiles, writeOrder } from './order.ts'
import { readReports } from './relay.ts'
import { makePrivateFolder } from '../../system/private-files.ts'
import { startProcess } from '../../system/spawn.ts'
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
  const supervisor = await start(supervision, order, input).catch((error: unknown) => {
    for (const path of [order.request, order.log]) rmSync(path, { force: true })
    order.remove()
    throw describeFailure(messageOf(error))
  })
  let late = false
  const patience = setTimeout(() => {
    late = true
    supervisor.kill('SIGKILL')
  }, patienceMs)
  const stop = () => supervisor.kill('SIGTERM')
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop, { once: true })
  try {
    for await (const report of readReports(supervisor.stdout)) {
      clearTimeout(patience)
      if ('ready' in report) continue
      if ('result' in report) return report.result
      if ('misuse' in report) {
        const { code, message, field } = report.misuse
        throw new MisuseError(code, message, field)
      }
      await onEvent?.(report.event)
    }
    const said = readLog(order)
    throw describeFailure(late ? `it said nothing within ${patienceMs / 1000} s` : said)
  } finally {
    clearTimeout(patience)
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

/** How long a supervisor may take to start, on a machine however busy. */
const patienceMs = 15_000

/** A limit is the usual cause: a runtime needs a dozen threads, of which each counts as a process. */
function describeFailure(why: string): MisuseError {
  const message =
    `The process that is to hold the command could not start (${why}): raise the limits ` +
    '(`ulimit -u`, `ulimit -n`), end other processes, or run the command without --background'
  return new MisuseError('supervisor_failed', message)
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

async function start(
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
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && !marks.includes(name)) env[name] = value
  }
  const log = openSync(order.log, 'a')
  try {
    const supervisor = await startProcess({
      file,
      args: [...words, 'supervise', order.request, ...options],
      detached: true,
      env,
      stdio: [given ? 'inherit' : 'ignore', 'pipe', log],
    })
    // The end of its stdout tells what becomes of it.
    supervisor.on('error', () => undefined)
    return Object.assign(supervisor, { stdout: supervisor.stdout as Readable })
  } finally {
    closeSync(log)
  }
}

/** The first line that a supervisor has left which did not answer; the files are removed. */
function readLog(order: OrderFiles): string {
  let said = ''
  try {
    said = readFileSync(order.log, 'utf8')
  } catch (error) {
    // An empty log is removed by the supervisor itself.
    if (codeOf(error) !== 'ENOENT') throw error
  }
  for (const path of [order.log, order.request]) rmSync(path, { force: true })
  // The runtime's own words for it are a native stack.
  if (said.includes('thread_create')) return 'the system gave it no thread'
  return (
    said
      .split('\n')
      .find((line) => /\w/.test(line))
      ?.trim() ?? 'it ended at once'
  )
}
