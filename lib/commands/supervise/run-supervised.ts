import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import type { RunOptions } from '../../executor/executor.ts'
import { messageOf, MisuseError } from '../../protocol/errors.ts'
import type { RequestInput } from '../../protocol/request/request.ts'
import type { Result } from '../../protocol/result/result.ts'
import type { Verdict } from '../../protocol/rules.ts'
import { fromWire, toWire } from '../../protocol/wire.ts'
import type { AllMethods } from '../../protocol/rpc/methods.ts'
import { createPresence, presenceFolder } from '../../system/process/presence.ts'
import { copyOutsideRun } from '../../system/process/own-process.ts'
import { makeSocketPlace } from '../../system/temporary-folder.ts'
import { type PipedProcess, startPiped } from '../../system/process/spawn.ts'
import { type AnyNotification, askOnce, ConnectionLost } from '../../wire/client.ts'
import { decodeEvent } from '../../wire/messages.ts'

export interface Supervision {
  /** The words that start nacre once more. */
  program: readonly string[]
  environment: Readonly<Record<string, string | undefined>>
  stateDir: string
  /** Those of the command line by which the supervisor finds the same configuration and rules. */
  options: readonly string[]
}

/**
 * Takes a command through the executor of a process of its own, which lives as long as the run. The
 * same as `Executor.run`, but that the run goes on when this process ends. Aborting `signal` stops it.
 */
export async function runSupervised(
  supervision: Supervision,
  input: RequestInput,
  { signal, onEvent, approve }: RunOptions,
): Promise<Result> {
  const { supervisor, socket, ended } = await callSupervisor(supervision, input)
  let isStarted = false
  try {
    const asked = { request: input, supportsApproval: approve !== undefined }
    const params = toWire(asked) as AllMethods['supervise']['params']
    const result = await askOnce(socket, 'supervise', params, {
      signal,
      onApproval({ verdict, ...shown }) {
        isStarted = true
        return approve?.(shown, fromWire(verdict) as Verdict, signal) ?? false
      },
      async onNotification(told: AnyNotification) {
        isStarted = true
        if (told.method === 'run.event') await onEvent?.(decodeEvent(told.params))
      },
    })
    return fromWire(result) as Result
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error
    if (!isStarted) throw describeFailure(await ended)
    const message =
      'The process that held the command was killed; `nacre job list` tells what is left'
    throw new MisuseError('supervisor_lost', message)
  } finally {
    supervisor.stderr?.destroy()
    supervisor.unref()
  }
}

/** How long a supervisor may take to call back, on a machine however busy. */
const patienceMs = 15_000

interface Called {
  supervisor: PipedProcess
  socket: Socket
  /** Its last words, once it has ended. */
  ended: Promise<string>
}

/** Starts a supervisor and waits until it has called back. Rejects with `MisuseError` where it does not. */
async function callSupervisor(supervision: Supervision, input: RequestInput): Promise<Called> {
  // Killed meanwhile, this process would leave the folder of its socket.
  const presence = createPresence(presenceFolder(supervision.stateDir))
  presence.enter()
  const place = makeSocketPlace()
  const server = createServer()
  let timer: NodeJS.Timeout | undefined
  try {
    await once(server.listen(place.path), 'listening')
    const supervisor = await start(supervision, place.path, input)
    const called = once(server, 'connection') as Promise<[Socket]>
    const ended = hearLastWords(supervisor)
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        supervisor.kill('SIGKILL')
        reject(new Error(`it said nothing within ${patienceMs / 1000} s`))
      }, patienceMs)
    })
    const failed = ended.then((words) => Promise.reject(new Error(words)))
    failed.catch(() => undefined)
    const [socket] = await Promise.race([called, failed, late])
    return { supervisor, socket, ended }
  } catch (error) {
    throw describeFailure(messageOf(error))
  } finally {
    clearTimeout(timer)
    server.close()
    place.remove()
    presence.leave()
  }
}

function hearLastWords(supervisor: PipedProcess): Promise<string> {
  let said = ''
  const { stderr } = supervisor
  stderr?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-10_000)))
  return new Promise((resolve) => supervisor.once('close', () => resolve(firstLine(said))))
}

/** The runtime's own words for a missing thread are a native stack. */
function firstLine(said: string): string {
  if (said.includes('thread_create')) return 'the system gave it no thread'
  const line = said.split('\n').find((text) => /\w/.test(text))
  return line?.trim() ?? 'it ended at once'
}

/** A limit is the usual cause: a runtime needs a dozen threads, of which each counts as a process. */
function describeFailure(why: string): MisuseError {
  const message =
    `The process that is to hold the command could not start (${why}): raise the limits ` +
    '(`ulimit -u`, `ulimit -n`), end other processes, or run the command without --background'
  return new MisuseError('supervisor_failed', message)
}

function start(
  { program, environment, options }: Supervision,
  socketPath: string,
  { stdin, openStdin }: RequestInput,
): Promise<PipedProcess> {
  const [file = '', ...words] = program
  const given = stdin?.kind === 'descriptor' && openStdin !== true
  return startPiped({
    file,
    args: [...words, 'supervise', socketPath, ...options],
    detached: true,
    env: copyOutsideRun(environment),
    stdio: [given ? 'inherit' : 'ignore', 'ignore', 'pipe'],
  })
}
