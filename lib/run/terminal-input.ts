import type { DescriptorCalls } from './descriptor-calls.ts'

/** What is typed into a terminal. */
export interface TerminalInput {
  /** Queues a text and writes as much of it as the terminal takes. */
  type(text: string): void
  /** The terminal may have room again. */
  flush(): void
  close(): void
}

/** Nothing tells when a full terminal has room again, so that it is tried after so long, and longer. */
const retryMs = { first: 1, longest: 16 }
const sliceBytes = 64 * 1024

/**
 * Writes to a non-blocking master without ever blocking the event loop: the kernel takes some
 * kilobytes, the rest waits here until the program reads.
 */
export function createTerminalInput(master: number, calls: DescriptorCalls): TerminalInput {
  const queue: Uint8Array[] = []
  let timer: NodeJS.Timeout | undefined
  let delayMs: number = retryMs.first
  let closed = false

  function flush(): void {
    while (!closed) {
      const next = queue[0]
      if (!next) return
      const written = calls.write(master, next.subarray(0, sliceBytes))
      if (written === 0) return retryLater()
      delayMs = retryMs.first
      if (written === next.length) queue.shift()
      else queue[0] = next.subarray(written)
    }
  }

  function retryLater(): void {
    if (timer) return
    timer = setTimeout(() => {
      timer = undefined
      flush()
    }, delayMs)
    delayMs = Math.min(retryMs.longest, delayMs * 2)
  }

  return {
    type(text) {
      if (closed || text === '') return
      queue.push(Buffer.from(text))
      if (queue.length === 1) flush()
    },
    flush,
    close() {
      closed = true
      queue.length = 0
      clearTimeout(timer)
    },
  }
}
