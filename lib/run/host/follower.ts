import type { StreamName } from '../../protocol/result/event.ts'
import type { Exit, OutputSink, StartFailure } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import { lastLine, unreachable } from './clients.ts'
import { createFrameReader, type Frame } from './frames.ts'

/** What is heard of a run on another machine. */
export interface Follower {
  write: OutputSink['write']
  /** Settles when the command has told its end on every stream. */
  readonly ended: Promise<void>
  readonly state: FollowerState
  /** What was said that is not the command's: of the login, or of the client. */
  words: () => string
}

export interface FollowerState {
  begun: boolean
  /** Of the command over there. */
  pid: number | null
  code: number | null
  refused: string | null
}

/** Takes the frames out of what a client writes. */
export function followFrames(request: Request, name: string, sink: OutputSink): Follower {
  const state: FollowerState = { begun: false, pid: null, code: null, refused: null }
  const merged = request.streams === 'merged' || request.pty !== null
  let open = merged ? 1 : 2
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })

  function tell(frame: Frame): void {
    if (frame.kind === 'begin') state.begun = true
    if (frame.kind === 'pid') state.pid = frame.pid
    if (frame.kind === 'refused') state.refused = frame.reason
    if (frame.kind === 'end') state.code = frame.code
    if (frame.kind === 'end' && --open === 0) end()
  }

  const readers: Partial<Record<StreamName, ReturnType<typeof createFrameReader>>> = {}
  const reader = (stream: StreamName) => (readers[stream] ??= createFrameReader(name, tell))

  return {
    async write(stream, bytes) {
      // Of a merged run only stdout is the command's; the client itself speaks on stderr.
      const parts = reader(stream).read(bytes)
      const target = merged ? 'output' : stream
      for (const part of parts) {
        const answer = await sink.write(target, part)
        if (answer !== undefined) return answer
      }
      return undefined
    },
    ended,
    state,
    words: () =>
      (['stderr', 'stdout', 'output'] as const)
        .map((stream) => readers[stream]?.preamble.trim() ?? '')
        .find((text) => text !== '') ?? '',
  }
}

/** How the run has ended over there, from what was heard of it here. */
export function describeEnd(
  exit: Exit,
  { state, words }: Follower,
  host: string,
  request: Request,
): Exit {
  const { notices = [] } = exit
  if (state.refused !== null) {
    return { ...exit, notStarted: describeRefused(state.refused) }
  }
  if (state.code !== null) return { code: state.code, signal: null, notices: [] }
  if (!state.begun) {
    return { ...exit, notStarted: unreachable(host, lastLine(words())).failure }
  }
  const where = state.pid === null ? '' : `; process ${state.pid} may still run there`
  const why = lastLine(words())
  const lost = `The connection to ${host} was lost${why === '' ? '' : ` (${why})`}${where}`
  return { code: null, signal: null, lost, notices: request.pty ? [] : notices }
}

function describeRefused(reason: string): StartFailure {
  const codes: readonly [RegExp, string][] = [
    [/^Working directory does not exist/, 'cwd_not_found'],
    [/^Working directory is not a directory/, 'cwd_not_a_directory'],
    [/^Working directory may not/, 'cwd_not_accessible'],
  ]
  const code = codes.find(([pattern]) => pattern.test(reason))?.[1]
  return code === undefined
    ? { code: 'shell_not_found', message: reason, exitCode: 127 }
    : { code, message: reason, exitCode: 125 }
}
