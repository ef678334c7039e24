import { closeSync, constants, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { messageOf } from '../../protocol/errors.ts'
import { StartError } from '../../protocol/ports.ts'
import { type Declared, openLibc } from '../../system/libc.ts'
import { bun, findSea, isDeno, isSingleExecutable, ownPlace } from '../../system/runtime.ts'
import { makeTemporaryFolder, removeTemporaryFolder } from '../../system/temporary-folder.ts'

/** What a terminal needs of the system, below the JavaScript of any runtime. */
export interface TerminalCalls {
  /** A new terminal. Both descriptors are non-blocking. */
  open(columns: number, rows: number): { master: number; slave: number; pty: string }
  resize(fd: number, columns: number, rows: number): void
}

const platformPackage = `@lydell/node-pty-${process.platform}-${process.arch}`

/**
 * Bun and Deno call the C library on Linux. Elsewhere the addon of node-pty 1.1.0 is loaded (`src/unix/pty.cc`, below
 * its JavaScript): in a single executable from its assets, else from the platform's package beside node-pty. Throws
 * a `StartError` that says what is missing.
 */
export function loadTerminalCalls(): TerminalCalls {
  try {
    const libc = process.platform === 'linux' ? openLibc(declared) : null
    if (libc !== null) return composeLibcCalls(libc.calls)
    // Deno's own calls refuse descriptors that Deno did not open (EBADF).
    if (isDeno) throw new Error('Deno has terminals on Linux only')
    return loadAddon()
  } catch (error) {
    throw new StartError('pty_unavailable', `No terminal can be opened: ${messageOf(error)}`)
  }
}

function loadAddon(): TerminalCalls {
  const asset = readAsset('pty.node')
  if (asset) return extractAddon(asset)
  try {
    // The platform's package belongs to node-pty and need not be visible from here.
    const requireBeside = createRequire(createRequire(ownPlace).resolve('node-pty'))
    return requireBeside(`${platformPackage}/pty.node`) as TerminalCalls
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

/** Loads the addon from a private folder. */
function extractAddon(addon: Uint8Array): TerminalCalls {
  const folder = makeTemporaryFolder('pty', (path) => {
    writeFileSync(join(path, 'pty.node'), addon, { mode: 0o700 })
  })
  const loaded = { exports: {} }
  try {
    process.dlopen(loaded, join(folder, 'pty.node'))
  } finally {
    removeTemporaryFolder(folder)
  }
  return loaded.exports as TerminalCalls
}

/** What is called of the C library. */
interface Calls {
  unlockpt(fd: number): number
  ptsname_r(fd: number, name: Uint8Array, length: number): number
  ioctl(fd: number, request: number, size: Uint16Array): number
}

const declared: Declared<Calls> = {
  unlockpt: ['i32', 'i32'],
  ptsname_r: ['i32', 'i32', 'buffer', 'usize'],
  ioctl: ['i32', 'i32', 'u64', 'buffer'],
}

/** TIOCSWINSZ of ioctl_tty(2), the same on x64 and arm64. */
const setWindowSize = 0x5414

/** What the addon does, by the C library of a Linux system. */
function composeLibcCalls(libc: Calls): TerminalCalls {
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
  }
}
