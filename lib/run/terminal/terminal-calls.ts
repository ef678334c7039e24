import { closeSync, constants, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { codeOf, messageOf } from '../../protocol/errors.ts'
import type { TerminalSize } from '../../protocol/request/request.ts'
import { readNow } from '../../system/descriptor-watch.ts'
import { bun, findSea, isSingleExecutable, ownPlace } from '../../system/runtime.ts'
import { makeFilledFolder, removeTemporaryFolder } from '../../system/temporary-folder.ts'
import type { Launch } from '../launch.ts'

/** What a terminal needs of the system, below the JavaScript of any runtime. */
export interface TerminalCalls {
  /** A new terminal. Both descriptors are non-blocking; those of the addon are not close-on-exec. */
  open(columns: number, rows: number): { master: number; slave: number; pty: string }
  resize(fd: number, columns: number, rows: number): void
  /** Writes what a non-blocking descriptor takes now; 0 when it takes nothing. */
  write(fd: number, bytes: Uint8Array): number
  /** Reads what a non-blocking descriptor has now; `empty`: nothing. */
  read(fd: number, buffer: Uint8Array): number | 'empty'
  close(fd: number): void
  /** Makes a descriptor close-on-exec; false where that is impossible, as in Node. */
  setCloseOnExec(fd: number): boolean
  /** Starts a program on a new terminal as the leader of a session of its own; null where only setsid(1) can. */
  fork:
    | ((
        launch: Launch,
        file: string,
        size: TerminalSize,
        onExit: (code: number, signal: number) => void,
      ) => { fd: number; pid: number; pty: string })
    | null
}

/** The native part of node-pty 1.1.0 (`src/unix/pty.cc`), below its JavaScript. */
interface PtyAddon extends Pick<TerminalCalls, 'open' | 'resize'> {
  fork(
    file: string,
    args: string[],
    env: string[],
    cwd: string,
    columns: number,
    rows: number,
    uid: number,
    gid: number,
    utf8: boolean,
    /** The path of the program `spawn-helper`, which only macOS needs. */
    helperPath: string,
    onExit: (code: number, signal: number) => void,
  ): { fd: number; pid: number; pty: string }
}

const platformPackage = `@lydell/node-pty-${process.platform}-${process.arch}`

/**
 * Bun on Linux calls the C library; elsewhere the addon is loaded: in a single executable from its assets, else
 * from the platform's package beside node-pty. Throws an `Error` that says what is missing.
 */
export function loadTerminalCalls(): TerminalCalls {
  if (bun !== null && process.platform === 'linux') return openLibcCalls()
  const { addon, helperPath } = loadAddon()
  const { write, read, close, setCloseOnExec } = openDescriptorCalls()
  return {
    open: (columns, rows) => addon.open(columns, rows),
    resize: (fd, columns, rows) => addon.resize(fd, columns, rows),
    write,
    read,
    close,
    setCloseOnExec,
    fork({ args, cwd, env }, file, { columns, rows }, onExit) {
      const words = Object.entries(env).map(([name, value]) => `${name}=${value}`)
      return addon.fork(file, args, words, cwd, columns, rows, -1, -1, true, helperPath, onExit)
    },
  }
}

function loadAddon(): { addon: PtyAddon; helperPath: string } {
  const onMac = process.platform === 'darwin'
  const asset = readAsset('pty.node')
  if (asset) return extractAddon(asset, onMac ? readAsset('spawn.helper') : null)
  try {
    // The platform's package belongs to node-pty and need not be visible from here.
    const requireBeside = createRequire(createRequire(ownPlace).resolve('node-pty'))
    const addon = requireBeside(`${platformPackage}/pty.node`) as PtyAddon
    const helperPath = onMac ? requireBeside.resolve(`${platformPackage}/spawn-helper`) : ''
    return { addon, helperPath }
  } catch (error) {
    const reason = messageOf(error).split('\n')[0] ?? ''
    throw new Error(`The terminal addon ${platformPackage} cannot be loaded: ${reason}`, {
      cause: error,
    })
  }
}

function readAsset(name: string): Uint8Array | null {
  if (bun !== null) return isSingleExecutable() ? readFileSync(join(dirname(bun.main), name)) : null
  const sea = findSea()
  return sea === null ? null : new Uint8Array(sea.getRawAsset(name))
}

/** Loads the addon from a private folder; the helper stays there, since it is started at each fork. */
function extractAddon(addon: Uint8Array, helper: Uint8Array | null) {
  const folder = makeFilledFolder('pty', (path) => {
    writeFileSync(join(path, 'pty.node'), addon, { mode: 0o700 })
    if (helper) writeFileSync(join(path, 'spawn-helper'), helper, { mode: 0o700 })
  })
  const loaded = { exports: {} }
  try {
    process.dlopen(loaded, join(folder, 'pty.node'))
  } finally {
    if (!helper) removeTemporaryFolder(folder)
  }
  return {
    addon: loaded.exports as PtyAddon,
    helperPath: helper ? join(folder, 'spawn-helper') : '',
  }
}

type DescriptorCalls = Pick<TerminalCalls, 'write' | 'read' | 'close' | 'setCloseOnExec'>

/** The part of Deno's foreign function interface that is used here. */
interface DenoForeign {
  dlopen(
    library: string,
    symbols: Record<string, { parameters: string[]; result: string }>,
  ): {
    symbols: {
      write(fd: number, bytes: Uint8Array, count: bigint): bigint
      read(fd: number, buffer: Uint8Array, count: bigint): bigint
      close(fd: number): number
      fcntl(fd: number, command: number, flags: number): number
    }
  }
}

/** Node's own calls. Deno's refuse descriptors that Deno did not open (EBADF), so Deno calls the C library. */
function openDescriptorCalls(): DescriptorCalls {
  const deno = (globalThis as { Deno?: DenoForeign }).Deno
  return deno ? callLibc(deno) : nodeCalls
}

const nodeCalls: DescriptorCalls = {
  write(fd, bytes) {
    try {
      return writeSync(fd, bytes)
    } catch (error) {
      if (codeOf(error) === 'EAGAIN') return 0
      throw error
    }
  },
  read: readNow,
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
    read: { parameters: ['i32', 'buffer', 'usize'], result: 'isize' },
    close: { parameters: ['i32'], result: 'i32' },
    fcntl: { parameters: ['i32', 'i32', 'i32'], result: 'i32' },
  })
  return {
    // The master of an open terminal fails in one way only: it is full.
    write: (fd, bytes) => Math.max(0, Number(symbols.write(fd, bytes, BigInt(bytes.length)))),
    read(fd, buffer) {
      const count = Number(symbols.read(fd, buffer, BigInt(buffer.length)))
      return count < 0 ? 'empty' : count
    },
    close: (fd) => void symbols.close(fd),
    setCloseOnExec: (fd) => symbols.fcntl(fd, setFlags, closeOnExec) === 0,
  }
}

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
function openLibcCalls(): TerminalCalls {
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
      const flags = constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK
      const master = openSync('/dev/ptmx', flags)
      try {
        const pty = nameSlave(master)
        resize(master, columns, rows)
        return { master, slave: openSync(pty, flags), pty }
      } catch (error) {
        closeSync(master)
        throw error
      }
    },
    resize,
    fork: null,
    ...nodeCalls,
  }
}
