import {
  appendFileSync,
  closeSync,
  ftruncateSync,
  openSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { ifThere, lookIntoFile } from '../../system/look.ts'
import { makeTemporaryFolder, removeTemporaryFolder } from '../../system/temporary-folder.ts'

/** A turn that is no longer finds its room on the disk however full that is by then: `rm` can still run. */
const turnBytes = 65_536

/** The files by which nacre talks to a shell that stays. */
export interface ShellFiles {
  folder: string
  /** The file of the next turn, for a shell that sees the folder under this path. */
  turnPath(seenAs: string): string
  /** Null: the shell may write nothing of ours. */
  exportsPath: string | null
  write(name: string, text: string): void
  append(name: string, text: string): void
  remove(name: string): void
  /** What the shell is to do next: fields that each end with NUL. What stood there before may follow them. */
  turn(fields: readonly (string | number)[]): void
  readExports(): string
  close(): void
}

/**
 * On Linux a shell that sees nacre reads its turns through a descriptor of nacre in `/proc`, which a command that
 * empties the temporary folder leaves alone; one in a sandbox, and others, read them by name. The exports always
 * have a name: a descriptor that is closed by then may be any other file, which would be overwritten.
 */
export function openShellFiles(visible: boolean): ShellFiles {
  let turnFd = -1
  const folder = makeTemporaryFolder('shell', (path) => {
    turnFd = openSync(join(path, 'turn'), 'wx+', 0o600)
    try {
      writeFileSync(turnFd, Buffer.alloc(2 * turnBytes))
      // What the shell reads at its start takes the other half.
      ftruncateSync(turnFd, turnBytes)
    } catch (error) {
      closeSync(turnFd)
      throw error
    }
  })
  const anonymous = visible && process.platform === 'linux'
  const exportsPath = join(folder, 'exports')
  const names = new Set(['turn', 'exports'])
  let open = true

  // Not `rmSync`, which may take a descriptor: there may be none left.
  const remove = (name: string) => void ifThere(() => unlinkSync(join(folder, name)))

  return {
    folder,
    turnPath: (seenAs) => (anonymous ? `/proc/${process.pid}/fd/${turnFd}` : join(seenAs, 'turn')),
    exportsPath: visible ? exportsPath : null,
    write(name, text) {
      names.add(name)
      writeFileSync(join(folder, name), text, { mode: 0o600 })
    },
    append: (name, text) => void ifThere(() => appendFileSync(join(folder, name), text)),
    remove,
    turn(fields) {
      // The number of the descriptor may be another file's by then.
      if (!open) return
      // As bytes, since Deno ignores the position of a text.
      const bytes = Buffer.from(fields.map((field) => `${field}\0`).join(''))
      writeSync(turnFd, bytes, 0, bytes.length, 0)
    },
    readExports: () => (visible && lookIntoFile(exportsPath)) || '',
    close() {
      if (!open) return
      open = false
      closeSync(turnFd)
      for (const name of names) remove(name)
      removeTemporaryFolder(folder)
    },
  }
}
