import { appendFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isObject } from '../../protocol/shape/shape.ts'
import { codeOf } from '../../protocol/errors.ts'
import { createId } from '../../protocol/wire.ts'
import { countOf } from '../screen/text.ts'
import { lookIntoFile } from '../../system/look.ts'
import { makePrivateFolder, replaceFile } from '../../system/private-files.ts'

/** One line that was typed: in which language, where, and how it ended. */
export interface HistoryEntry {
  kind: 'command' | 'prompt'
  text: string
  /** Empty where it is not known. */
  cwd: string
  /** Null while it is not known: it runs, or was no command. */
  exitCode: number | null
}

/** What was typed at the prompt, kept between starts and shared by every nacre of the user. */
export interface History {
  /** Oldest first, each text of a kind once, where it was used last. */
  list(): readonly HistoryEntry[]
  /** A text that begins with a space is not kept. Gives what tells how it ended. */
  add(entry: Omit<HistoryEntry, 'exitCode'>): (exitCode: number | null) => void
}

/** Older entries are dropped when the file is read and has twice as many. */
const keptEntries = 10_000

/**
 * `file` holds a JSON text a line; appending one is a single write, so that nobody tears another's. `warn` hears
 * what cannot be read, and once that nothing can be written.
 */
export function openHistory(file: string, warn: (sentence: string) => void): History {
  const known = new Map<string, HistoryEntry>()
  const byId = new Map<string, HistoryEntry>()
  let list: HistoryEntry[] | null = null
  let told = false
  let damaged = 0
  for (const line of readLines(file)) take(line)
  if (damaged > 0) warn(`${countOf(damaged, 'line')} of ${file} cannot be read`)

  function put(entry: HistoryEntry): void {
    const key = `${entry.kind}\0${entry.text}`
    known.delete(key)
    known.set(key, entry)
    list = null
  }

  /** A line that is damaged, or that a full disk has cut, is passed over. */
  function take(line: string): void {
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      damaged++
      return
    }
    if (!isObject(value)) return void damaged++
    const { kind, text, cwd, id, exit } = value
    if (typeof id === 'string' && typeof exit === 'number') {
      const entry = byId.get(id)
      if (entry) entry.exitCode = exit
    } else if ((kind === 'command' || kind === 'prompt') && typeof text === 'string') {
      const entry: HistoryEntry = {
        kind,
        text,
        cwd: typeof cwd === 'string' ? cwd : '',
        exitCode: null,
      }
      if (typeof id === 'string') byId.set(id, entry)
      put(entry)
    }
  }

  function append(value: object): void {
    try {
      makePrivateFolder(dirname(file))
      appendFileSync(file, `${JSON.stringify(value)}\n`, { mode: 0o600 })
    } catch (error) {
      if (!told) warn(`History is not kept: ${codeOf(error) ?? 'error'} on ${file}`)
      told = true
    }
  }

  return {
    list: () => (list ??= [...known.values()]),
    add({ kind, text, cwd }) {
      if (text.trim() === '' || text.startsWith(' ')) return () => undefined
      const entry: HistoryEntry = { kind, text, cwd, exitCode: null }
      const id = createId('line')
      put(entry)
      append({ kind, text, cwd, id, at: new Date().toISOString() })
      return (exitCode) => {
        entry.exitCode = exitCode
        if (exitCode !== null) append({ id, exit: exitCode })
      }
    },
  }
}

/** How an entry is typed in this mode; null where it cannot be said in it. */
export function recall(entry: HistoryEntry, bash: boolean): string | null {
  if (entry.kind === 'command') return bash ? entry.text : `! ${entry.text}`
  return bash ? null : entry.text
}

function readLines(file: string): string[] {
  // Where it cannot be read, adding to it says why.
  const lines = (lookIntoFile(file) ?? '').split('\n').filter((line) => line !== '')
  if (lines.length <= 4 * keptEntries) return lines
  lines.splice(0, lines.length - 2 * keptEntries)
  try {
    replaceFile(file, `${lines.join('\n')}\n`)
  } catch {
    // It stays long until somebody can write it.
  }
  return lines
}
