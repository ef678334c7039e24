import { createDeferred, type Deferred } from '../protocol/deferred.ts'
import { OutputLimitError } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import type { ListenerAnswer, RunEvent, RunListener, StreamName } from '../protocol/result/event.ts'
import type { JobOutput, Reading } from '../protocol/result/reading.ts'

type Answer = ListenerAnswer | Promise<ListenerAnswer>

/** The answer of two who take output: either may hold it up, and either may say that nobody reads it. */
export function both(one: Answer, other: Answer): Answer {
  if (!(one instanceof Promise) && !(other instanceof Promise)) return one ?? other
  return Promise.all([one, other]).then((answers) => answers.find(Boolean))
}

/** Gives a program bytes of its own. A result that cannot hold all output is given up, unless it is a job's. */
export function listenForProgram(
  onEvent: RunListener | undefined,
  isWhole: () => boolean,
): RunListener {
  const written: Partial<Record<StreamName, number>> = {}
  return (event) => {
    if (event.type !== 'output') return onEvent?.(event)
    const { stream, bytes } = event
    const total = (written[stream] = (written[stream] ?? 0) + bytes.length)
    if (total > limits.wholeBytes && isWhole()) throw new OutputLimitError(stream)
    return onEvent?.({ ...event, bytes: Uint8Array.from(bytes) })
  }
}

export type GuardedListener = ReturnType<typeof guardListener>

/**
 * A run's listener, whose mistake ends the run and reaches its caller, never the event loop. `onFailure` is told
 * once; after that the listener hears no more.
 */
export function guardListener(
  onEvent: RunListener | undefined,
  onFailure: (error: unknown) => void,
) {
  let failure: { error: unknown } | null = null

  function fail(error: unknown): void {
    if (failure) return
    failure = { error }
    onFailure(error)
  }

  return {
    emit(event: RunEvent): Answer {
      if (failure || !onEvent) return undefined
      try {
        const answer = onEvent(event)
        return typeof answer === 'object' ? Promise.resolve(answer).catch(fail) : answer
      } catch (error) {
        fail(error)
        return undefined
      }
    },
    /** Throws what the listener threw first, if it did. */
    rethrow(): void {
      if (failure) throw failure.error
    },
  }
}

/** Output that a reader has not taken yet holds up the command from here on. */
const readerQueue = {
  highWaterMark: 256 * 1024,
  size: (event: RunEvent) => (event.type === 'output' ? event.bytes.length : 0),
}

/**
 * The events of one run, for whoever iterates over them. Keeps what a reader is yet to take, and nothing if nobody
 * reads. A reader that comes late begins with `started` and with what comes next; after the end it gets `started`
 * and `exited`.
 */
export function createEventStream() {
  /** Each gives an event to one reader. */
  const readers = new Set<(event: RunEvent) => Promise<void> | undefined>()
  let started: RunEvent | null = null
  let exited: RunEvent | null = null

  return {
    /** Gives an event to every reader. A promise comes back if one of them has yet to take it. */
    push(event: RunEvent): Answer {
      if (event.type === 'started') started = event
      if (event.type === 'exited') exited = event
      if (readers.size === 0) return
      // The runner uses the memory of the bytes again, so a reader gets a copy.
      const kept =
        event.type === 'output' ? { ...event, bytes: Uint8Array.from(event.bytes) } : event
      const waits = [...readers].flatMap((give) => give(kept) ?? [])
      return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined)
    },
    [Symbol.asyncIterator](): AsyncIterator<RunEvent> {
      let room: Deferred<void> | null = null
      let queue = null as ReadableStreamDefaultController<RunEvent> | null
      function release(): void {
        room?.resolve()
        room = null
      }
      const stream = new ReadableStream<RunEvent>(
        {
          start: (controller) => void (queue = controller),
          pull: release,
          cancel() {
            readers.delete(give)
            release()
          },
        },
        readerQueue,
      )
      const reader = stream.getReader()
      function give(event: RunEvent): Promise<void> | undefined {
        queue?.enqueue(event)
        if (event.type === 'exited') {
          readers.delete(give)
          queue?.close()
        } else if ((queue?.desiredSize ?? 0) <= 0) {
          room ??= createDeferred()
          return room.promise
        }
        return undefined
      }
      readers.add(give)
      for (const event of [started, exited]) if (event) void give(event)
      return {
        next: () => reader.read() as Promise<IteratorResult<RunEvent>>,
        async return() {
          await reader.cancel()
          return { done: true, value: undefined }
        },
      }
    },
  }
}

/** A run whose text is read as it comes. */
interface TextRun {
  readonly events: AsyncIterable<RunEvent>
  read(reading?: Reading): JobOutput
}

/** The text of a run from a place on, piece by piece; the place moves on with it. */
export function* readOn(run: Pick<TextRun, 'read'>, place: { cursor: number }): Generator<string> {
  for (;;) {
    const { text, cursor } = run.read(place)
    if (text === '') return
    place.cursor = cursor
    yield text
  }
}

/** Follows the text of a run by its events; what is not whole yet waits for its newline or the end. */
export async function* readLines(run: TextRun): AsyncGenerator<string> {
  const place = { cursor: 0 }
  let unfinished = ''
  function* readNew(): Generator<string> {
    for (const text of readOn(run, place)) {
      const lines = (unfinished + text).split('\n')
      unfinished = lines.pop() ?? ''
      yield* lines
    }
  }
  for await (const { type } of run.events) if (type === 'output') yield* readNew()
  yield* readNew()
  if (unfinished !== '') yield unfinished
}
