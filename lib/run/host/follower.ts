import type { StreamName } from '../../protocol/result/event.ts'
import { createDeferred } from '../../protocol/deferred.ts'
import type { Exit, OutputSink, StartFailure } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { SandboxUse, ToldResult } from '../../protocol/result/result.ts'
import { version } from '../../protocol/wire.ts'
import { type Heard, lastLine, unreachable } from './client.ts'
import { createFrameReader, type Frame } from './frames.ts'
import { noNacreThere } from './script.ts'

/** What is heard of a run on another machine. */
export interface Follower {
  write: OutputSink['write']
  /** Takes a frame that came by another way. */
  tell: (frame: Frame) => void
  /** Settles when the command has begun, or never will. */
  readonly begun: Promise<void>
  /** Settles when the shell of a session has told its own end. */
  readonly gone: Promise<void>
  /** Settles when the command has told its end on every stream, and what it wrote before has been taken. */
  readonly ended: Promise<void>
  readonly state: Heard
  /** What was said that is not the command's: of the login, or of the client. */
  words: () => string
}

const lastWordsBytes = 4096

/** Takes the frames out of what a client writes. */
export function followFrames(request: Request, name: string, sink: OutputSink): Follower {
  const state: Heard = {
    begun: false,
    startedIn: null,
    pid: null,
    code: null,
    signal: null,
    durationMs: null,
    used: null,
    carried: false,
    taken: false,
    told: null,
    refused: null,
    isStopped: false,
    timedOut: false,
    cwd: null,
    gone: null,
    isUnread: false,
    lastWords: '',
  }
  const merged = request.streams === 'merged' || request.pty !== null
  let open = merged ? 1 : 2
  const { promise: begun, resolve: begin } = createDeferred()
  const { promise: gone, resolve: leave } = createDeferred()
  const { promise: ended, resolve: end } = createDeferred()

  function tell(frame: Frame): void {
    Object.assign(state, frame)
    if (frame.gone !== undefined) leave()
    begin()
  }

  const readers: Partial<Record<StreamName, ReturnType<typeof createFrameReader>>> = {}
  // Of a merged run only stdout is the command's; the client itself speaks on stderr.
  const isWords = (stream: StreamName) => merged && stream === 'stderr'
  /** Streams whose end has been told, behind bytes that may still be on their way. */
  const ending = new Set<StreamName>()
  function createReader(stream: StreamName) {
    return createFrameReader(name, (frame) => {
      if (isWords(stream)) return
      if (frame.code !== undefined) ending.add(stream)
      tell(frame)
    })
  }

  return {
    async write(stream, bytes) {
      if (stream === 'stderr') {
        const text = Buffer.from(bytes.subarray(-lastWordsBytes)).toString('utf8')
        state.lastWords = (state.lastWords + text).slice(-lastWordsBytes)
      }
      const parts = (readers[stream] ??= createReader(stream)).read(bytes)
      if (isWords(stream)) return undefined
      const target = merged ? 'output' : stream
      try {
        for (const part of parts) {
          const answer = await sink.write(target, part)
          if (answer === 'closed') state.isUnread = true
          if (answer !== undefined) return answer
        }
        return undefined
      } finally {
        if (ending.delete(stream) && --open === 0) end()
      }
    },
    tell,
    begun,
    gone,
    ended,
    state,
    words: () =>
      (['stderr', 'stdout', 'output'] as const)
        .map((stream) => readers[stream]?.preamble.trim() ?? '')
        .find((text) => text !== '') ?? '',
  }
}

/** How the run has ended over there, from what was heard of it here. */
export function describeEnd(exit: Exit, follower: Follower, host: string, request: Request): Exit {
  return { ...tellEnd(exit, follower, host, request), ...describeHeard(follower.state, request) }
}

/** What was heard of the run beside its end, whoever knows that best. */
export function describeHeard(
  { startedIn, used, told, carried, durationMs }: Heard,
  request: Request,
): Pick<Exit, 'startedIn' | 'usage' | 'sandbox' | 'durationMs'> {
  const usage = told?.usage ?? (used && { ...used, maxRssBytes: null })
  const sandbox = told?.sandbox ?? (carried ? null : noSandbox)
  return {
    startedIn,
    ...(durationMs !== null && { durationMs }),
    ...(usage && { usage }),
    ...(request.sandbox !== 'off' && sandbox && { sandbox }),
  }
}

function tellEnd(exit: Exit, { state, words }: Follower, host: string, request: Request): Exit {
  const { notices = [] } = exit
  if (state.refused !== null) {
    return { ...exit, notStarted: describeRefused(state.refused, host) }
  }
  if (state.told !== null) return describeTold(state.told, host)
  if (state.code !== null) {
    const end = describeCode(state.code, state.signal)
    if (state.timedOut) return { ...end, stoppedBy: 'timeout' }
    if (!state.carried) return end
    const bySignal = end.code === null || end.code > 128
    if (!state.taken && !(state.isStopped && bySignal)) {
      return { ...exit, notStarted: describeFailure('host_nacre', notTaken, host) }
    }
    if (bySignal) return end
    return { ...end, notices: [`The nacre on ${host} told no result: this is its own exit status`] }
  }
  if (!state.begun) {
    return { ...exit, notStarted: unreachable(host, lastLine(words())).failure }
  }
  // The client is ended by that, and its command with it.
  if (state.isUnread) return describeCode(141, 'SIGPIPE')
  const where = state.pid === null ? '' : `; process ${state.pid} may still run there`
  const why = lastLine(words())
  const lost = `The connection to ${host} was lost${why === '' ? '' : ` (${why})`}${where}`
  return { code: null, signal: null, lost, notices: request.pty ? [] : notices }
}

export function describeCode(code: number, signal: string | null): Exit {
  return signal === null ? { code, signal: null, notices: [] } : { code: null, signal, notices: [] }
}

/** What confines a run of `sandbox: auto` where no nacre is. */
const noSandbox: SandboxUse = { mechanism: 'none', network: 'on', degraded: true }

/** The end of a run as the nacre over there tells it. */
function describeTold(told: ToldResult, host: string): Exit {
  const { exitCode: code, signal, reason, pipeStatus, error, notices } = told
  const exit: Exit = { code, signal, pipeStatus, notices }
  if (told.status === 'stopped' && reason !== null) return { ...exit, stoppedBy: reason }
  if (error === null) return exit
  return { ...exit, notStarted: describeFailure(error.code, error.message, host) }
}

/** Another program, one that cannot start, or one that does not know what it is asked for. */
const notTaken = `the nacre there did not take the command, as one of version ${version} does: mend it, or take it from the PATH there`

function describeFailure(code: string, why: string, host: string): StartFailure {
  const message =
    code === 'sandbox_unavailable'
      ? `The host ${host} has no sandbox for this run: ${why}`
      : code === 'host_nacre'
        ? `The host ${host} has not begun this run: ${why}`
        : why
  return { code, message }
}

function describeRefused(reason: string, host: string): StartFailure {
  const codes: readonly [RegExp, string][] = [
    [/^Working directory does not exist/, 'cwd_not_found'],
    [/^Working directory is not a directory/, 'cwd_not_a_directory'],
    [/^Working directory may not/, 'cwd_not_accessible'],
    [new RegExp(`^${noNacreThere}`), 'sandbox_unavailable'],
  ]
  const code = codes.find(([pattern]) => pattern.test(reason))?.[1]
  return describeFailure(code ?? 'shell_not_found', reason, host)
}
