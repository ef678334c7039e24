import { appendFileSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from '../../protocol/errors.ts'
import { makePrivateFolder, replaceFile } from '../../system/private-files.ts'

/** What was typed at the prompt, kept between starts and shared by every nacre of the user. */
export interface History {
  /** Oldest first, each text once, where it was used last. */
  list(): string[]
  /** A text that begins with a space is not kept. Gives what went wrong with the file, or null. */
  add(text: string): string | null
}

/** Older entries are dropped when the file is read and has twice as many. */
const keptEntries = 10_000

/** `file` holds a JSON text a line; appending one is a single write, so that nobody tears another's. */
export function openHistory(file: string): History {
  let own: string[] = []
  let told = false

  return {
    list: () => [...new Set([...readEntries(file), ...own].reverse())].reverse(),
    add(text) {
      if (text.trim() === '' || text.startsWith(' ')) return null
      try {
        makePrivateFolder(dirname(file))
        appendFileSync(file, `${JSON.stringify(text)}\n`, { mode: 0o600 })
        return null
      } catch (error) {
        own.push(text)
        const first = !told
        told = true
        return first ? `History is not kept: ${codeOf(error) ?? 'error'} on ${file}` : null
      }
    },
  }
}

function readEntries(file: string): string[] {
  const lines = readLines(file)
  if (lines.length > 2 * keptEntries) {
    lines.splice(0, lines.length - keptEntries)
    replace(file, lines)
  }
  return lines.map(parseEntry).filter((entry) => entry !== null)
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
  } catch {
    // Not readable: as if there were none; adding to it says why.
    return []
  }
}

/** A line that a full disk has cut is passed over. */
function parseEntry(line: string): string | null {
  try {
    const entry: unknown = JSON.parse(line)
    return typeof entry === 'string' ? entry : null
  } catch {
    return null
  }
}

function replace(file: string, lines: readonly string[]): void {
  try {
    replaceFile(file, `${lines.join('\n')}\n`)
  } catch {
    // It stays long until somebody can write it.
  }
}
