import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Request } from '../../protocol/request/request.ts'
import { isWithin } from '../../system/look.ts'
import type { WorkPlaces } from './sandbox-places.ts'

/** Listens for writes that the sandbox has refused. */
export interface RefusedWrites {
  look(bytes: Uint8Array): void
  /** The last line of bwrap's own, where it could not begin. To be asked once all has been looked at. */
  lastWords(): string
  /** One notice, or none. */
  describe(places: WorkPlaces): string[]
}

/**
 * strerror(3) of EROFS, and of EBUSY, which rename(2) gives for what is mounted on, as programs print
 * them; Node writes them small.
 */
const refusal = /read-only file system|device or resource busy/i
const mostLines = 20
/** So much of the end of the output is looked at. */
const lookedAtBytes = 64 * 1024

/**
 * The kernel leaves no trace of a refused write but the error that the program gets, so what the
 * output says is where the search begins; what is told rests on more than that: the path named in
 * such a line must lie outside of what the run may write, and the words must not stand in the command
 * itself. Looks at no locale but the C library's own English.
 */
export function watchRefusedWrites({ command, cwd }: Request): RefusedWrites {
  let last: Buffer[] = []
  let lastBytes = 0

  const listLines = () => Buffer.concat(last).toString().split(/\r?\n/)

  return {
    look(bytes) {
      last.push(Buffer.from(bytes))
      lastBytes += bytes.length
      if (lastBytes < 2 * lookedAtBytes) return
      last = [Buffer.concat(last).subarray(-lookedAtBytes)]
      lastBytes = lookedAtBytes
    },
    lastWords: () => listLines().findLast((line) => line.startsWith('bwrap: ')) ?? '',
    describe(places) {
      if (refusal.test(command)) return []
      const lines = listLines().filter((line) => refusal.test(line))
      const folders = listFolders(command, cwd)
      for (const name of lines.slice(0, mostLines).flatMap(findPaths)) {
        for (const folder of folders) {
          const path = findReal(resolve(folder, name))
          const notice = path === null ? null : describeRefusal(path, places)
          if (notice !== null) return [notice]
        }
      }
      return []
    },
  }
}

/** What such a line can name: a text in quotes; before the words, a path or a single word. */
export function findPaths(line: string): string[] {
  const quoted = [...line.matchAll(/['"‘`]([^'"’`]+)['"’`]/g)].map(([, text]) => text ?? '')
  const before = line.slice(0, line.search(refusal)).replace(/[:\s]+$/, '')
  const part = before.split(/:\s/).at(-1)?.trim() ?? ''
  const word = part.split(/\s+/).at(-1) ?? ''
  const named = [word, part].filter((text) => text.includes('/') || word === part)
  return [...quoted, ...named].filter((text) => text !== '' && !text.includes('\0'))
}

/**
 * The folders in which a relative name may begin: those to which the command goes by cd, the last one first,
 * then the one in which it was started.
 */
function listFolders(command: string, cwd: string): string[] {
  const folders = [cwd]
  for (const [, word = ''] of command.matchAll(/\b(?:cd|pushd)\s+([^\s;&|()<>]+)/g)) {
    folders.unshift(resolve(folders[0] ?? cwd, word.replaceAll(/['"]/g, '')))
  }
  return folders
}

/** The canonical path of what is there, or would be. */
function findReal(path: string): string | null {
  try {
    return existsSync(path) ? realpathSync(path) : join(realpathSync(dirname(path)), basename(path))
  } catch {
    return null
  }
}

function describeRefusal(path: string, { hostRun, writable, tmp }: WorkPlaces): string | null {
  if (hostRun.listPresent().some((file) => isWithin(path, file))) {
    return `A write was refused: programs outside of the sandbox run or obey ${path}. To let runs write it, name it in \`writable_folders\` of your configuration`
  }
  if ([...writable, tmp, '/dev', '/run'].some((folder) => isWithin(path, folder))) return null
  const open = [...writable, `a private ${tmp}`].join(' and ')
  return `A write was refused: ${path} is outside of what the sandbox lets this run write (${open})`
}
