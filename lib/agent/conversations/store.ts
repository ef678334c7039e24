import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../protocol/shape/shape.ts'
import { codeOf, messageOf, MisuseError } from '../../protocol/errors.ts'
import { createId, idPattern, fromWire, toWire } from '../../protocol/wire.ts'
import { makePrivateFolder, readFlags } from '../../system/private-files.ts'
import { addUsage, type Message, type Usage } from '../models/model.ts'
import { type ConversationInfo, type Entry, replayEntries, titleOf } from './entry.ts'
import { ifThere, lookIntoFolder } from '../../system/look.ts'
import { nameFile, ownerOf } from '../../system/process/presence.ts'
import { isAlive, nameProcess } from '../../system/process/process-table.ts'
import { pause } from '../../system/clock.ts'
import { ModelError } from '../models/failure.ts'

/** One conversation under way. */
export interface Conversation {
  readonly id: string
  /** The messages as a model reads them. */
  readonly messages: readonly Message[]
  /** What all its turns have used. */
  readonly usage: Usage
  add(message: Message, usage?: Usage): void
  /** Takes back the newest message, which the model has not answered. */
  withdraw(why: string): void
  /** Puts shorter messages in place of the same ones; on disk they stay whole. */
  shorten(messages: readonly Message[]): void
  end(status: string, error: string | null): void
  /**
   * Answers a prompt as the only writer, with what other processes have added meanwhile. Rejects with
   * `ModelError` `busy` while another one writes.
   */
  hold<Value>(use: () => Promise<Value>): Promise<Value>
  /** Why it could not be written, once; else null. */
  takeNotice(): string | null
}

/** The conversations of a user, as files in one folder. */
export interface ConversationStore {
  /** A new one; its file comes with the first message. */
  create(cwd: string): Conversation
  /** Throws `MisuseError` where there is none of this id. */
  open(id: string): Conversation
  /** The newest one of that directory, or null. */
  newest(cwd: string): string | null
  /** Newest first. */
  list(): ConversationInfo[]
  /** Every entry that can be read. Throws `MisuseError` where there is none of this id. */
  read(id: string): Entry[]
  /** False: there was none. */
  remove(id: string): boolean
}

export interface StoreOptions {
  /** Null: nothing is kept. */
  folder: string | null
  /** Takes the values of keys out of a text. */
  redact: (text: string) => string
}

/** So much of a file is read for its first question. */
const headBytes = 256 * 1024

export function createConversationStore({ folder, redact }: StoreOptions): ConversationStore {
  function pathOf(id: string): string {
    if (folder !== null && idPattern.test(id) && id.startsWith('conv_')) {
      return join(folder, `${id}.jsonl`)
    }
    throw notFound(id)
  }

  function read(id: string): Entry[] {
    const text = ifThere(() => readFileSync(pathOf(id), 'utf8'))
    if (text === null) throw notFound(id)
    return readEntries(text)
  }

  function describe(name: string): ConversationInfo[] {
    const id = name.replace(/\.jsonl$/, '')
    if (folder === null || !idPattern.test(id)) return []
    try {
      const path = join(folder, name)
      const { mtime } = statSync(path)
      const entries = readEntries(readHead(path))
      const [head] = entries
      if (head?.type !== 'conversation') return []
      const asked = entries.find(
        (entry) => entry.type === 'message' && entry.message.role === 'user',
      )
      const text =
        asked?.type === 'message' && asked.message.role === 'user' ? asked.message.text : ''
      const { cwd, at } = head
      return [{ id, title: titleOf(text), cwd, createdAt: at, updatedAt: mtime.toISOString() }]
    } catch {
      // Removed meanwhile, or not readable: it is not in the list.
      return []
    }
  }

  const list = () =>
    listNames(folder)
      .flatMap(describe)
      .sort((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1))

  return {
    create(cwd) {
      const id = createId('conv')
      const head: Entry = { type: 'conversation', id, at: now(), cwd }
      return createConversation(id, [], { folder, redact, head })
    },
    open: (id) => createConversation(id, read(id), { folder, redact, head: null }),
    newest: (cwd) => list().find((info) => info.cwd === cwd)?.id ?? null,
    list,
    read,
    remove(id) {
      try {
        rmSync(pathOf(id))
        return true
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return false
        throw error
      }
    },
  }
}

function notFound(id: string): MisuseError {
  const message = `There is no conversation \`${id.slice(0, 100)}\`; /resume in the REPL shows which there are`
  return new MisuseError('not_found', message, 'conversation')
}

function createConversation(
  id: string,
  entries: readonly Entry[],
  { folder, redact, head }: StoreOptions & { head: Entry | null },
): Conversation {
  const path = join(folder ?? '', `${id}.jsonl`)
  let { messages, usage } = replayEntries(entries)
  /** Its file, when this process last read or wrote it. */
  let bytes = 0
  let unwritten = head
  let failure: string | null = null
  let told = false

  function append(entry: Entry): void {
    if (folder === null) return
    const first = unwritten
    unwritten = null
    try {
      if (first) makePrivateFolder(folder)
      const lines = [...(first ? [first] : []), entry].map(
        (it) => `${JSON.stringify(toWire(it))}\n`,
      )
      bytes = appendLines(path, redact(lines.join('')))
    } catch (error) {
      unwritten = first
      failure ??= `The conversation cannot be kept: ${messageOf(error)}`
    }
  }

  return {
    id,
    get messages() {
      return messages
    },
    get usage() {
      return usage
    },
    add(message, used) {
      messages.push(message)
      if (used) usage = addUsage(usage, used)
      append({ type: 'message', at: now(), message, ...(used && { usage: used }) })
    },
    withdraw(why) {
      if (messages.at(-1)?.role !== 'user') return
      messages.pop()
      append({ type: 'withdrawn', at: now(), why })
    },
    shorten(shorter) {
      messages = [...shorter]
    },
    end: (status, error) => append({ type: 'result', at: now(), status, error }),
    async hold(use) {
      if (folder === null) return use()
      const release = await lockConversation(folder, id)
      try {
        const size = statSync(path, { throwIfNoEntry: false })?.size ?? bytes
        if (size !== bytes)
          ({ messages, usage } = replayEntries(readEntries(readFileSync(path, 'utf8'))))
        return await use()
      } finally {
        release()
      }
    },
    takeNotice() {
      if (told || failure === null) return null
      told = true
      return failure
    },
  }
}

/** Two writers that start at the same moment both give way; so often does each try again. */
const mostTries = 5
const longestPauseMs = 100

/**
 * Makes the caller the only writer; gives what ends that. A writer adds a file that names its process, and removes
 * it again if that of another living process is there: of two, the one that looks later sees the other. The file of
 * a killed process locks nothing, and processes of other pid namespaces, which cannot be seen, do not either.
 */
async function lockConversation(folder: string, id: string): Promise<() => void> {
  const prefix = `${id}.lock-`
  const own = join(folder, prefix + nameFile(nameProcess(process.pid)))
  const release = () => rmSync(own, { force: true })

  function countWriters(): number {
    const names = lookIntoFolder(folder).filter((name) => name.startsWith(prefix))
    return names.filter((name) => {
      const owner = ownerOf(name.slice(prefix.length))
      const writes = owner !== null && isAlive(owner)
      if (owner !== null && !writes) rmSync(join(folder, name), { force: true })
      return writes
    }).length
  }

  for (let attempt = 1; attempt <= mostTries; attempt++) {
    if (countWriters() === 0) {
      try {
        makePrivateFolder(folder)
        writeFileSync(own, '', { mode: 0o600 })
      } catch {
        // Where no lock can be written, no entry can: the first one tells why.
        return release
      }
      if (countWriters() <= 1) return release
      release()
    }
    await pause(Math.random() * longestPauseMs)
  }
  throw new ModelError(
    'busy',
    'Another prompt of this conversation is being answered; wait until it has ended, or start a new conversation',
  )
}

function now(): string {
  return new Date().toISOString()
}

/** Appends by one write: a killed process leaves at most one line that is cut off. Gives the size of the file. */
function appendLines(path: string, text: string): number {
  const fd = openSync(path, 'a+', 0o600)
  try {
    const whole = (endsWithNewline(fd) ? '' : '\n') + text
    const bytes = Buffer.from(whole)
    for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done)
    return fstatSync(fd).size
  } finally {
    closeSync(fd)
  }
}

/** A process that was killed in the middle of a line has left none. */
function endsWithNewline(fd: number): boolean {
  const { size } = fstatSync(fd)
  if (size === 0) return true
  const last = Buffer.alloc(1)
  readSync(fd, last, 0, 1, size - 1)
  return last[0] === 0x0a
}

function listNames(folder: string | null): string[] {
  if (folder === null) return []
  const names = ifThere(() => readdirSync(folder)) ?? []
  return names.filter((name) => name.endsWith('.jsonl'))
}

function readHead(path: string): string {
  const fd = openSync(path, readFlags)
  try {
    if (!fstatSync(fd).isFile()) return ''
    const bytes = Buffer.alloc(headBytes)
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, headBytes, 0))
  } finally {
    closeSync(fd)
  }
}

const kinds = ['conversation', 'withdrawn', 'result']

function isEntry(value: unknown): value is object {
  if (!isObject(value)) return false
  const { type, message } = value
  if (type !== 'message' || !isObject(message)) return kinds.includes(String(type))
  const { role, text, parts, replies } = message
  if (role === 'user') return typeof text === 'string'
  return Array.isArray(role === 'assistant' ? parts : replies)
}

function readEntries(text: string): Entry[] {
  return text.split('\n').flatMap((line): Entry[] => {
    try {
      const value: unknown = JSON.parse(line)
      return isEntry(value) ? [fromWire(value) as Entry] : []
    } catch {
      // A line that was cut off, or the empty one behind the last.
      return []
    }
  })
}
