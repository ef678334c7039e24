import { createDeferred } from '../../protocol/deferred.ts'
import type { ListenerAnswer, RunEvent } from '../../protocol/result/event.ts'

/** Output that a reader has not taken yet holds up the command from here on. */
const highWaterBytes = 256 * 1024

/** The events of one run, for whoever iterates over them. */
export interface EventStream extends AsyncIterable<RunEvent> {
  /** Gives an event to every reader. A promise comes back where one of them has yet to take it. */
  push(event: RunEvent): ListenerAnswer | Promise<ListenerAnswer>
}

/**
 * Keeps what a reader is yet to take, and nothing where nobody reads. A reader that comes late begins
 * with `started` and with what comes next; after the end it gets `started` and `exited`.
 */
export function createEventStream(): EventStream {
  const readers = new Set<Reader>()
  let started: RunEvent | null = null
  let exited: RunEvent | null = null

  return {
    push(event) {
      if (event.type === 'started') started = event
      if (event.type === 'exited') exited = event
      if (readers.size === 0) return
      // The runner uses the memory of the bytes again, so a reader gets a copy.
      const kept =
        event.type === 'output' ? { ...event, bytes: Uint8Array.from(event.bytes) } : event
      const waits = [...readers].flatMap((reader) => reader.push(kept) ?? [])
      return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined)
    },
    [Symbol.asyncIterator]() {
      const reader = createReader(() => readers.delete(reader))
      readers.add(reader)
      for (const event of [started, exited]) if (event) void reader.push(event)
      return reader.iterator
    },
  }
}

interface Reader {
  push(event: RunEvent): Promise<void> | undefined
  iterator: AsyncIterator<RunEvent>
}

function createReader(close: () => void): Reader {
  const queue: RunEvent[] = []
  let heldBytes = 0
  let more = createDeferred()
  let hasRoom: (() => void) | null = null
  let over = false

  function release(): void {
    hasRoom?.()
    hasRoom = null
  }

  /** Also several who wait at once. */
  function wake(): void {
    more.resolve()
    more = createDeferred()
  }

  function finish(): IteratorResult<RunEvent> {
    over = true
    queue.length = 0
    close()
    release()
    wake()
    return { done: true, value: undefined }
  }

  return {
    push(event) {
      queue.push(event)
      wake()
      if (event.type !== 'output') return undefined
      heldBytes += event.bytes.length
      if (heldBytes < highWaterBytes) return undefined
      return new Promise((resolve) => {
        const before = hasRoom
        hasRoom = () => {
          before?.()
          resolve()
        }
      })
    },
    iterator: {
      async next() {
        while (queue.length === 0 && !over) await more.promise
        const event = queue.shift()
        if (over || event === undefined) return finish()
        if (event.type === 'output') heldBytes -= event.bytes.length
        if (heldBytes < highWaterBytes) release()
        if (event.type === 'exited') {
          over = true
          close()
        }
        return { done: false, value: event }
      },
      return: async () => finish(),
    },
  }
}
