import { OutputLimitError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { OutputSink } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type {
  ListenerAnswer,
  RunEvent,
  RunListener,
  StreamName,
} from '../../protocol/result/event.ts'
import type { Result } from '../../protocol/result/result.ts'
import { createEventStream } from './event-stream.ts'
import type { RunOptions } from '../options.ts'
import type { LiveRun, RunCall } from './run.ts'
import { waitAsAsked } from './wait.ts'

/** What belongs to one call of `start`. */
export interface Call extends RunCall {
  options: RunOptions
  /** Hears every event: the caller's listener, then whoever iterates over the run's events. */
  hear: RunListener
  /** Names who is told what the caller's listener has thrown: at once where it has failed already. */
  onFailure: (act: (error: unknown) => void) => void
  /** Until it settles, output is held back: whoever gets the run can listen to all of it. */
  opened: Promise<void> | null
}

/**
 * `record` is told of each run's end, and gives a notice where it has one. `program`: the request of a
 * program that reads the result by itself.
 */
export function createCall(
  options: RunOptions,
  opened: Promise<void> | null,
  record: (result: Result) => string | null | undefined,
  program: Request | null = null,
): Call {
  const stream = createEventStream()
  let held: LiveRun | null = null
  const { onEvent } = options
  const listening = createListening(
    program ? listenForProgram(program, onEvent, () => held?.isJob === true) : onEvent,
  )
  const hear: RunListener = (event) => both(listening.hear(event), stream.push(event))
  return {
    options,
    hear,
    onFailure: listening.onFailure,
    stream,
    opened,
    async settle(result) {
      const lost = record(result)
      if (lost) result.notices.push(lost)
      await hear({ type: 'exited', id: result.id, result })
      return result
    },
    async wait(run) {
      held = run
      let result = await waitAsAsked(run)
      if (result.status === 'running') {
        run.detach()
        await run.declared
        result = run.look()
      }
      listening.rethrow()
      return result
    },
  }
}

type Answer = ReturnType<OutputSink['write']>

/** The answer of two who take output: either may hold it up, and either may say that nobody reads it. */
export function both(one: Answer, other: Answer): Answer {
  if (!(one instanceof Promise) && !(other instanceof Promise)) return one ?? other
  return Promise.all([one, other]).then((answers) => answers.find(Boolean))
}

/** Gives a program bytes of its own. A result that cannot hold all output is given up, unless it is a job's. */
function listenForProgram(
  { text }: Request,
  onEvent: RunListener | undefined,
  isJob: () => boolean,
): RunListener {
  const written: Partial<Record<StreamName, number>> = {}
  return (event) => {
    if (event.type !== 'output') return onEvent?.(event)
    const { stream, bytes } = event
    const total = (written[stream] = (written[stream] ?? 0) + bytes.length)
    const isOver = text === 'whole' && total > limits.wholeBytes && !isJob()
    if (isOver) throw new OutputLimitError(stream)
    return onEvent?.({ ...event, bytes: Uint8Array.from(bytes) })
  }
}

/** A run's listener, whose mistake ends the run and reaches its caller, never the event loop. */
interface Listening {
  hear: RunListener
  onFailure: Call['onFailure']
  /** Throws what the listener threw first, if it did. */
  rethrow(): void
}

function createListening(onEvent: RunListener | undefined): Listening {
  let failure: { error: unknown } | null = null
  let act: ((error: unknown) => void) | null = null

  function report(): void {
    if (failure) act?.(failure.error)
  }

  function fail(error: unknown): void {
    if (failure) return
    failure = { error }
    report()
  }

  function hear(event: RunEvent): ListenerAnswer | Promise<ListenerAnswer> {
    if (failure || !onEvent) return
    try {
      const answer = onEvent(event)
      return typeof answer === 'object' ? Promise.resolve(answer).catch(fail) : answer
    } catch (error) {
      fail(error)
    }
  }

  return {
    hear,
    onFailure(chosen) {
      act = chosen
      report()
    },
    rethrow() {
      if (failure) throw failure.error
    },
  }
}
