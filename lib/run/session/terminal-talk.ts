import { closeSync, openSync, rmSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { lookIntoFile } from '../../system/look.ts'
import { makeFilledFolder, removeTemporaryFolder } from '../../system/temporary-folder.ts'
import { countBegun } from '../pipe/pipe-reader.ts'

/*
 * By what nacre and a shell on a terminal talk: the shell by marks in what it writes to the terminal, nacre by
 * keys and by files.
 */

/** A piece of what a shell writes to its terminal. */
export type Piece =
  | { kind: 'bytes'; bytes: Uint8Array }
  /**
   * `I` ends the start files, `C` begins a command's output and tells the command's length, `D` ends it, `B` is the
   * prompt, `R` an answer.
   */
  | { kind: 'mark'; name: string; fields: string[] }

interface MarkReader {
  /** The pieces that are certain now, in order. Their memory is that of the chunk. */
  read(chunk: Uint8Array): Piece[]
  /** What was held back since it might have been the beginning of a mark. */
  rest(): Uint8Array
}

const bell = 0x07
/** Longer ones are no marks of ours: what began like one is given on as it is. */
const longestMark = 4 * 1024 * 1024

/** Finds the marks `ESC ] <nonce> ; name ; fields BEL` in a stream that may be cut anywhere. */
export function createMarkReader(nonce: string): MarkReader {
  const start = Buffer.from(`\u001B]${nonce};`)
  let held = Buffer.alloc(0)

  return {
    read(chunk) {
      let bytes = held.length > 0 ? Buffer.concat([held, chunk]) : Buffer.from(chunk)
      held = Buffer.alloc(0)
      const pieces: Piece[] = []
      const give = (part: Buffer) => {
        if (part.length > 0) pieces.push({ kind: 'bytes', bytes: part })
      }
      for (;;) {
        const at = bytes.indexOf(start)
        if (at < 0) {
          const end = bytes.length - countBegun(bytes, start)
          give(bytes.subarray(0, end))
          held = Buffer.from(bytes.subarray(end))
          return pieces
        }
        give(bytes.subarray(0, at))
        const end = bytes.indexOf(bell, at)
        if (end < 0) {
          if (bytes.length - at > longestMark) give(bytes.subarray(at))
          else held = Buffer.from(bytes.subarray(at))
          return pieces
        }
        const [name = '', ...fields] = bytes.toString('utf8', at + start.length, end).split(';')
        pieces.push({ kind: 'mark', name, fields })
        bytes = bytes.subarray(end + 1)
      }
    },
    rest() {
      const rest = held
      held = Buffer.alloc(0)
      return rest
    },
  }
}

/** A turn that is no longer finds its room on the disk however full that is by then: `rm` can still run. */
const turnBytes = 65_536

/** The files by which nacre and a shell talk beside its terminal. */
export interface ShellFiles {
  folder: string
  /** Null: the file `turn` of the folder, under whatever name the shell sees it. */
  turnPath: string | null
  /** Null: the shell may write nothing of ours. */
  exportsPath: string | null
  write(name: string, text: string): void
  turn(text: string): void
  readExports(): string
  /** The shell has read what it reads by name. */
  hide(): void
  close(): void
}

/**
 * On Linux the shell reads its turns through a descriptor of nacre in `/proc`, so that no command has a
 * name; a shell in a sandbox, which does not see nacre, and others by name. The exports always have a name: a
 * descriptor that is closed by then may be any other file, which would be overwritten.
 */
export function openShellFiles(visible: boolean): ShellFiles {
  const folder = makeFilledFolder('shell', (path) => {
    writeFileSync(join(path, 'turn'), Buffer.alloc(2 * turnBytes), { mode: 0o600 })
    // What the shell reads at its start takes the other half.
    truncateSync(join(path, 'turn'), turnBytes)
  })
  const anonymous = visible && process.platform === 'linux'
  const turnFd = openSync(join(folder, 'turn'), 'r+')
  const exportsPath = join(folder, 'exports')
  const names = ['turn']
  let open = true

  return {
    folder,
    turnPath: anonymous ? `/proc/${process.pid}/fd/${turnFd}` : null,
    exportsPath: visible ? exportsPath : null,
    write(name, text) {
      names.push(name)
      writeFileSync(join(folder, name), text, { mode: 0o600 })
    },
    turn(text) {
      // The number of the descriptor may be another file's by then.
      if (!open) return
      const bytes = Buffer.alloc(Math.max(turnBytes, Buffer.byteLength(text)))
      bytes.write(text)
      writeSync(turnFd, bytes, 0, bytes.length, 0)
    },
    readExports: () => (visible && lookIntoFile(exportsPath)) || '',
    hide() {
      if (anonymous) for (const name of names) rmSync(join(folder, name), { force: true })
    },
    close() {
      if (!open) return
      open = false
      closeSync(turnFd)
      removeTemporaryFolder(folder)
    },
  }
}
