import { closeSync, writeSync } from 'node:fs'
import { codeOf } from '../../protocol/errors.ts'

/** System calls on descriptors that an addon opened. */
export interface DescriptorCalls {
  /** Writes what a non-blocking descriptor takes now; 0 when it takes nothing. */
  write(fd: number, bytes: Uint8Array): number
  close(fd: number): void
  /** Makes a descriptor close-on-exec; false where that cannot be done, as in Node. */
  setCloseOnExec(fd: number): boolean
}

/** The part of Deno's foreign function interface that is used here. */
interface DenoForeign {
  dlopen(
    library: string,
    symbols: Record<string, { parameters: string[]; result: string }>,
  ): {
    symbols: {
      write(fd: number, bytes: Uint8Array, count: bigint): bigint
      close(fd: number): number
      fcntl(fd: number, command: number, flags: number): number
    }
  }
}

/** Node's own calls. Deno's refuse descriptors that Deno did not open (EBADF), so there libc's. */
export function openDescriptorCalls(): DescriptorCalls {
  const deno = (globalThis as { Deno?: DenoForeign }).Deno
  return deno ? callLibc(deno) : callNode
}

const callNode: DescriptorCalls = {
  write(fd, bytes) {
    try {
      return writeSync(fd, bytes)
    } catch (error) {
      if (codeOf(error) === 'EAGAIN') return 0
      throw error
    }
  },
  close: closeSync,
  setCloseOnExec: () => false,
}

/** A command and a flag of fcntl(2), which are the same everywhere. */
const setFlags = 2
const closeOnExec = 1

function callLibc(deno: DenoForeign): DescriptorCalls {
  const library = process.platform === 'darwin' ? 'libSystem.dylib' : 'libc.so.6'
  const { symbols } = deno.dlopen(library, {
    write: { parameters: ['i32', 'buffer', 'usize'], result: 'isize' },
    close: { parameters: ['i32'], result: 'i32' },
    fcntl: { parameters: ['i32', 'i32', 'i32'], result: 'i32' },
  })
  return {
    // The master of an open terminal fails in one way only: it is full.
    write: (fd, bytes) => Math.max(0, Number(symbols.write(fd, bytes, BigInt(bytes.length)))),
    close: (fd) => void symbols.close(fd),
    setCloseOnExec: (fd) => symbols.fcntl(fd, setFlags, closeOnExec) === 0,
  }
}
