import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { codeOf } from '../protocol/errors.ts'

/*
 * What this process can see of the file system: of what is gone, was never there, or is not this user's to
 * read, there is nothing to see.
 */

/** The text of a file. Those of `/proc` are read as latin1, in which every byte is a character. */
export function lookIntoFile(path: string, encoding: 'utf8' | 'latin1' = 'utf8'): string | null {
  return seen(() => readFileSync(path, encoding))
}

/** The names in a folder. */
export function lookIntoFolder(path: string): string[] {
  return seen(() => readdirSync(path)) ?? []
}

/** What a symbolic link says. */
export function lookAtLink(path: string): string | null {
  return seen(() => readlinkSync(path))
}

/** What is there; null where nothing has that name. Throws every other error of the system. */
export function ifThere<Value>(look: () => Value): Value | null {
  try {
    return look()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

function seen<Value>(look: () => Value): Value | null {
  try {
    return look()
  } catch {
    return null
  }
}
