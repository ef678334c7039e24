import { createHash } from 'node:crypto'
import { lstatSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { messageOf } from '../../../protocol/errors.ts'
import { makePrivateFolder, replaceFile } from '../../../system/private-files.ts'
import { openLibcTerminals } from './libc-terminal.ts'
import { bun, findSea, isSingleExecutable, ownPlace } from '../../../system/runtime.ts'

/** The native part of node-pty 1.1.0 (`src/unix/pty.cc`), below its JavaScript, or what does the same. */
export interface PtyAddon {
  /** A new terminal. Both descriptors are non-blocking and not close-on-exec. */
  open(columns: number, rows: number): { master: number; slave: number; pty: string }
  /** Starts a program on a new terminal as the leader of a session of its own. */
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
  resize(fd: number, columns: number, rows: number): void
}

/** What is known of the addon once it is loaded. */
export interface LoadedAddon {
  addon: PtyAddon
  helperPath: string
}

const platformPackage = `@lydell/node-pty-${process.platform}-${process.arch}`

/**
 * Loads the addon: in a single executable from its assets, else from the platform's package beside
 * node-pty; Bun on Linux does without. Throws an `Error` that says what is missing.
 */
export function loadPtyAddon(options: { cacheFolder?: string } = {}): LoadedAddon {
  if (bun !== null && process.platform === 'linux') {
    return { addon: openLibcTerminals(), helperPath: '' }
  }
  const onMac = process.platform === 'darwin'
  const asset = readAsset('pty.node')
  if (asset) {
    const helper = onMac ? readAsset('spawn.helper') : null
    const extract = (content: Uint8Array) => extractAddon(content, options.cacheFolder)
    return { addon: loadNative(extract(asset)), helperPath: helper ? extract(helper) : '' }
  }
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

function loadNative(path: string): PtyAddon {
  const loaded = { exports: {} }
  process.dlopen(loaded, path)
  return loaded.exports as PtyAddon
}

/**
 * Writes the addon into a folder that only this user can write, under a name made from its content,
 * and gives the path. A file that is there already is used if its content is the same.
 */
export function extractAddon(content: Uint8Array, cacheFolder?: string): string {
  const hash = createHash('sha256').update(content).digest('hex')
  const folders = cacheFolder
    ? [cacheFolder]
    : [join(homedir(), '.cache', 'nacre'), join(tmpdir(), `nacre-${process.getuid?.() ?? 'user'}`)]
  const failures: string[] = []
  for (const folder of folders) {
    try {
      ensurePrivateFolder(folder)
      const path = join(folder, `pty-${hash.slice(0, 32)}.node`)
      if (!holds(path, content)) replaceFile(path, content, 0o700)
      return path
    } catch (error) {
      failures.push(messageOf(error))
    }
  }
  throw new Error(`The terminal addon cannot be unpacked: ${failures.join('; ')}`)
}

function ensurePrivateFolder(folder: string): void {
  makePrivateFolder(folder)
  const stat = lstatSync(folder)
  const uid = process.getuid?.()
  if (!stat.isDirectory() || (uid !== undefined && stat.uid !== uid)) {
    throw new Error(`${folder} is not a folder of this user`)
  }
}

function holds(path: string, content: Uint8Array): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  const uid = process.getuid?.()
  if (!stat?.isFile() || (uid !== undefined && stat.uid !== uid)) return false
  return Buffer.compare(readFileSync(path), content) === 0
}
