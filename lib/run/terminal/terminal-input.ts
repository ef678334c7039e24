import type { DescriptorCalls } from './descriptor-calls.ts'

/** What is typed into a terminal. */
export interface TerminalInput {
  /** Queues what is typed. Settles when the terminal has taken all of it, or is closed. */
  type(input: string | Uint8Array): Promise<void>
  /** The terminal may have room again. */
  flush(): void
  close(): void
}

interface Typed {
  bytes: Uint8Array
  settle: () => void
}

/** Nothing tells when a full terminal has room again, so that it is tried after so long, and longer. */
const retryMs = { first: 1, longest: 16 }
const sliceBytes = 64 * 1024

/**
 * Writes to a non-blocking master without ever blocking the event loop: the kernel takes some
 * kilobytes, the rest waits here until the program reads.
 */
export function createTerminalInput(master: number, calls: DescriptorCalls): TerminalInput {
  const queue: Typed[] = []
  let timer: NodeJS.Timeout | undefined
  let delayMs: number = retryMs.first
  let closed = false

  function flush(): void {
    for (let next = queue[0]; next && !closed; next = queue[0]) {
      const written = calls.write(master, next.bytes.subarray(0, sliceBytes))
      if (written === 0) return retryLater()
      delayMs = retryMs.first
      next.bytes = next.bytes.subarray(written)
      if (next.bytes.length === 0) queue.shift()?.settle()
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
    type(input) {
      const bytes = typeof input === 'string' ? Buffer.from(input) : input
      if (closed || bytes.length === 0) return Promise.resolve()
      return new Promise((settle) => {
        queue.push({ bytes, settle })
        if (queue.length === 1) flush()
      })
    },
    flush,
    close() {
      closed = true
      for (const { settle } of queue.splice(0)) settle()
      clearTimeout(timer)
    },
  }
}
