import { createDeferred } from '../../protocol/deferred.ts'
import type { Exit, OutputSink, StartFailure } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { StreamName } from '../../protocol/result/event.ts'
import type { SandboxUse, ToldResult } from '../../protocol/result/result.ts'
import { version } from '../../protocol/wire.ts'
import { lastLine, unreachable } from './client.ts'
import { createFrameReader, type FrameReader, type Heard } from './frames.ts'

/** What is heard of a run on another machine. */
export interface Follower {
  write: OutputSink['write']
  /** Takes a frame that came by another way. */
  tell: (frame: Heard) => void
  /** Settles when the command has begun, or never will. */
  readonly begun: Promise<void>
  /** Settles when the command has reported its end on every stream, and what it wrote before has been taken. */
  readonly ended: Promise<void>
  readonly state: Heard
  /** What was said that is not the command's: of the login, or of the client. */
  words: () => string
}

const lastWordsBytes = 4096

/** Takes the frames out of what a client writes. */
export function followFrames(request: Request, name: string, sink: OutputSink): Follower {
  const state: Heard = {}
  const merged = request.streams === 'merged' || request.pty !== null
  let open = merged ? 1 : 2
  const { promise: begun, resolve: begin } = createDeferred()
  const { promise: ended, resolve: end } = createDeferred()

  function tell(frame: Heard): void {
    Object.assign(state, frame)
    begin()
  }

  const readers: Partial<Record<StreamName, FrameReader>> = {}
  /** Streams whose end has been reported, behind bytes that may still be on their way. */
  const ending = new Set<StreamName>()
  function createReader(stream: StreamName) {
    return createFrameReader(name, (frame) => {
      if (frame.code !== undefined) ending.add(stream)
      tell(frame)
    })
  }

  return {
    async write(stream, bytes) {
      if (stream === 'stderr') {
        const text = Buffer.from(bytes.subarray(-lastWordsBytes)).toString('utf8')
        state.lastWords = ((state.lastWords ?? '') + text).slice(-lastWordsBytes)
      }
      // Of a merged run only stdout is the command's; the client itself speaks on stderr.
      if (merged && stream === 'stderr') return undefined
      const parts = (readers[stream] ??= createReader(stream)).read(bytes)
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
    ended,
    state,
    words() {
      const { begun: isBegun, lastWords = '' } = state
      if (isBegun) return merged ? lastWords : ''
      return lastWords.trim() || ((readers.output ?? readers.stdout)?.preamble ?? '')
    },
  }
}

/**
 * How the run has ended over there, from what was heard of it here. `known`: the end as somebody tells it who
 * knows that better, its scheduler.
 */
export function describeEnd(
  exit: Exit,
  follower: Follower,
  host: string,
  request: Request,
  known: Exit | null = null,
): Exit {
  const { startedIn = null, told, carried, durationMs } = follower.state
  const sandbox = told?.sandbox ?? (carried ? null : noSandbox)
  return {
    ...(known ?? tellEnd(exit, follower, host, request)),
    startedIn,
    ...(durationMs !== undefined && { durationMs }),
    ...(told && { usage: told.usage }),
    ...(request.sandbox !== 'off' && sandbox && { sandbox }),
  }
}

function tellEnd(exit: Exit, { state, words }: Follower, host: string, request: Request): Exit {
  const { notices = [] } = exit
  const { refused, told, code, signal = null, pid } = state
  if (refused) return { ...exit, notStarted: describeFailure(refused, host) }
  if (told) return describeTold(told, host)
  if (code !== undefined) {
    const end = describeCode(code, signal)
    if (state.timedOut) return { ...end, stoppedBy: 'timeout' }
    if (!state.carried || state.isStopped) return end
    const lost = `The nacre on ${host} has told no result, and ended with ${signal ?? `status ${code}`}: it may be another version than ${version}`
    return { code: null, signal: null, lost }
  }
  const why = lastLine(words())
  if (!state.begun) return { ...exit, notStarted: unreachable(host, why).failure }
  // The client is ended by that, and its command with it.
  if (state.isUnread) return describeCode(141, 'SIGPIPE')
  const where = pid === undefined ? '' : `; process ${pid} may still run there`
  const lost = `The connection to ${host} was lost${why === '' ? '' : ` (${why})`}${where}`
  return { code: null, signal: null, lost, notices: request.pty ? [] : notices }
}

export function describeCode(code: number, signal: string | null): Exit {
  return { code: signal === null ? code : null, signal, notices: [] }
}

/** What confines a run of `sandbox: auto` on a host without a nacre. */
const noSandbox: SandboxUse = { mechanism: 'none', network: 'on', degraded: true }

/** The end of a run as the nacre over there reports it. */
function describeTold(told: ToldResult, host: string): Exit {
  const { exitCode: code, signal, reason, pipeStatus, error, notices } = told
  const exit: Exit = { code, signal, pipeStatus, notices }
  if (told.status === 'stopped' && reason !== null) return { ...exit, stoppedBy: reason }
  return error === null ? exit : { ...exit, notStarted: describeFailure(error, host) }
}

function describeFailure({ code, message }: StartFailure, host: string): StartFailure {
  const isOfSandbox = code === 'sandbox_unavailable'
  return {
    code,
    message: `${isOfSandbox ? `The host ${host} has no sandbox for this run: ` : ''}${message}`,
  }
}
