import { closeSync, constants, openSync } from 'node:fs'
import { StartError } from '../../../protocol/ports.ts'

const { O_NOCTTY, O_NONBLOCK, O_RDWR } = constants

/** The part of Bun's foreign function interface that is used here. */
interface BunForeign {
  dlopen(
    library: string,
    symbols: Record<keyof LibcCalls, { args: string[]; returns: string }>,
  ): { symbols: LibcCalls }
}

interface LibcCalls {
  unlockpt(fd: number): number
  ptsname_r(fd: number, name: Uint8Array, bytes: number): number
  ioctl(fd: number, request: number, size: Uint16Array): number
}

/** TIOCSWINSZ of ioctl_tty(2), the same on x64 and arm64. */
const setWindowSize = 0x5414

/**
 * What the addon does, by the C library of a Linux system, for Bun: the addon is built for glibc alone, and
 * Bun for musl refuses it. musl answers to the name of glibc's library too.
 */
export function openLibcTerminals() {
  const foreign = process.getBuiltinModule('bun:ffi') as BunForeign
  const { symbols: libc } = foreign.dlopen('libc.so.6', {
    unlockpt: { args: ['i32'], returns: 'i32' },
    ptsname_r: { args: ['i32', 'ptr', 'usize'], returns: 'i32' },
    ioctl: { args: ['i32', 'u64', 'ptr'], returns: 'i32' },
  })

  function resize(fd: number, columns: number, rows: number): void {
    const size = Uint16Array.of(rows, columns, 0, 0)
    if (libc.ioctl(fd, setWindowSize, size) !== 0) throw new Error('its size cannot be set')
  }

  function nameSlave(master: number): string {
    const name = new Uint8Array(64)
    if (libc.unlockpt(master) !== 0 || libc.ptsname_r(master, name, name.length) !== 0) {
      throw new Error('it has no name')
    }
    return Buffer.from(name.subarray(0, name.indexOf(0))).toString()
  }

  return {
    open(columns: number, rows: number) {
      const master = openSync('/dev/ptmx', O_RDWR | O_NOCTTY | O_NONBLOCK)
      try {
        const pty = nameSlave(master)
        resize(master, columns, rows)
        return { master, slave: openSync(pty, O_RDWR | O_NOCTTY | O_NONBLOCK), pty }
      } catch (error) {
        closeSync(master)
        throw error
      }
    },
    resize,
    fork(): never {
      const message = 'A terminal needs setsid(1): install util-linux, or busybox'
      throw new StartError('pty_unavailable', message)
    },
  }
}
