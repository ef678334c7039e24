import {
  appendFileSync,
  closeSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { messageOf, MisuseError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/shape/shape.ts'
import { createId, fromWire, idPattern, toWire } from '../../protocol/wire.ts'
import { ifThere, lookIntoFolder } from '../../system/look.ts'
import { makePrivateFolder, readFlags } from '../../system/private-files.ts'
import { nameFile, ownerOf } from '../../system/process/presence.ts'
import { isAlive, nameProcess } from '../../system/process/process-table.ts'
import { pause } from '../../system/clock.ts'
import { ModelError } from '../models/failure.ts'
import { addUsage, type Message, noUsage, type Usage } from '../models/model.ts'
import { type Entry, replayEntries, titleOf } from './messages.ts'

/** What a list tells of a conversation. */
export interface ConversationInfo {
  id: string
  /** The beginning of what was asked first. */
  title: string
  cwd: string
  createdAt: string
  updatedAt: string
}

export interface StoreOptions {
  /** Null: nothing is kept. */
  folder: string | null
  /** Takes the values of keys out of a text. */
  redact: (text: string) => string
}

/** The conversation to open; if nothing is given, a new one. */
export interface WantedConversation {
  /** Its id. */
  resume?: string | null
  /** Asks for the newest conversation of the directory. */
  continue?: boolean
}

/** The conversations of a user, as files in one folder. */
export function createConversationStore(options: StoreOptions) {
  const { folder } = options

  function pathOf(id: string): string {
    if (folder !== null && idPattern.test(id) && id.startsWith('conv_')) {
      return join(folder, `${id}.jsonl`)
    }
    throw notFound(id)
  }

  function readText(id: string): string {
    const text = ifThere(() => readFileSync(pathOf(id), 'utf8'))
    if (text === null) throw notFound(id)
    return text
  }

  function describe(name: string): ConversationInfo[] {
    const id = name.replace(/\.jsonl$/, '')
    if (folder === null || id === name || !idPattern.test(id)) return []
    try {
      const path = join(folder, name)
      const updatedAt = statSync(path).mtime.toISOString()
      const entries = readEntries(readHead(path))
      const [head] = entries
      if (head?.type !== 'conversation') return []
      const { cwd, at: createdAt } = head
      return [{ id, title: titleOf(entries), cwd, createdAt, updatedAt }]
    } catch {
      // Removed meanwhile, or not readable: it is not in the list.
      return []
    }
  }

  /** Newest first. */
  function list(): ConversationInfo[] {
    const found = folder === null ? [] : lookIntoFolder(folder).flatMap(describe)
    return found.sort((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1))
  }

  function findNewest(cwd: string): string {
    const newest = list().find((info) => info.cwd === cwd)
    if (newest) return newest.id
    throw new MisuseError('not_found', `There is no conversation to go on with in ${cwd}`)
  }

  return {
    list,
    /** Every entry that can be read. Throws `MisuseError` if there is none of this id. */
    read: (id: string): Entry[] => readEntries(readText(id)),
    /** Throws `MisuseError` if there is no such conversation. The file of a new one comes with its first message. */
    open({ resume, continue: goesOn = false }: WantedConversation, cwd: string): Conversation {
      const known = resume ?? (goesOn ? findNewest(cwd) : null)
      if (known !== null) return new Conversation(known, options, readText(known), null)
      const id = createId('conv')
      return new Conversation(id, options, '', { type: 'conversation', id, at: now(), cwd })
    },
  }
}

function notFound(id: string): MisuseError {
  const message = `There is no conversation \`${id.slice(0, 100)}\`; /resume in the REPL shows which there are`
  return new MisuseError('not_found', message, 'conversation')
}

/** One conversation under way. */
export class Conversation {
  readonly id: string
  readonly #options: StoreOptions
  #messages: Message[] = []
  #usage: Usage = noUsage
  /** The first entry, until it has been written. */
  #head: Entry | null
  /** How long its file was when this process last read or wrote it. */
  #bytes = 0
  /** What ends a line that a killed process has left unfinished. */
  #lineEnd = ''
  #failure: string | null = null

  constructor(id: string, options: StoreOptions, text: string, head: Entry | null) {
    this.id = id
    this.#options = options
    this.#head = head
    this.#replay(text)
  }

  /** The messages as a model reads them. */
  get messages(): readonly Message[] {
    return this.#messages
  }

  /** What all its turns have used. */
  get usage(): Usage {
    return this.#usage
  }

  add(message: Message, usage?: Usage): void {
    this.#messages.push(message)
    if (usage) this.#usage = addUsage(this.#usage, usage)
    this.#append({ type: 'message', at: now(), message, ...(usage && { usage }) })
  }

  /** Takes back the newest message, which the model has not answered. */
  withdraw(why: string): void {
    if (this.#messages.at(-1)?.role !== 'user') return
    this.#messages.pop()
    this.#append({ type: 'withdrawn', at: now(), why })
  }

  /** Puts shorter messages in place of the same ones; on disk they stay whole. */
  shorten(messages: readonly Message[]): void {
    this.#messages = [...messages]
  }

  end(status: string, error: string | null): void {
    this.#append({ type: 'result', at: now(), status, error })
  }

  /**
   * Answers a prompt as the only writer, with what other processes have added meanwhile. Rejects with
   * `ModelError` `busy` while another one writes.
   */
  async hold<Value>(use: () => Promise<Value>): Promise<Value> {
    const { folder } = this.#options
    if (folder === null) return use()
    const release = await lockConversation(folder, this.id)
    try {
      const path = join(folder, `${this.id}.jsonl`)
      const size = statSync(path, { throwIfNoEntry: false })?.size ?? this.#bytes
      if (size !== this.#bytes) this.#replay(readFileSync(path, 'utf8'))
      return await use()
    } finally {
      release()
    }
  }

  /** Why it could not be written since the last look; else null. */
  takeNotice(): string | null {
    const failure = this.#failure
    this.#failure = null
    return failure
  }

  #replay(text: string): void {
    const { messages, usage } = replayEntries(readEntries(text))
    this.#messages = messages
    this.#usage = usage
    this.#bytes = Buffer.byteLength(text)
    this.#lineEnd = text === '' || text.endsWith('\n') ? '' : '\n'
  }

  #append(entry: Entry): void {
    const { folder, redact } = this.#options
    if (folder === null) return
    const entries = this.#head === null ? [entry] : [this.#head, entry]
    const path = join(folder, `${this.id}.jsonl`)
    const lines = entries.map((it) => `${JSON.stringify(toWire(it))}\n`).join('')
    try {
      if (this.#head !== null) makePrivateFolder(folder)
      appendFileSync(path, this.#lineEnd + redact(lines), { mode: 0o600 })
      this.#bytes = statSync(path).size
      this.#head = null
      this.#lineEnd = ''
    } catch (error) {
      this.#lineEnd = '\n'
      this.#failure ??= `The conversation cannot be kept: ${messageOf(error)}`
    }
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

/** So much of a file is read for its first question. */
const headBytes = 256 * 1024

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
