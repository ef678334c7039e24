import { close, createReadStream, existsSync, linkSync, openSync, promises, write } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import type { ArtifactRef } from '../../protocol/result/result.ts'
import { messageOf } from '../../protocol/errors.ts'
import { identifySelf } from '../../system/process/process-table.ts'
import { type ArtifactRecord, createFlags, pathsOf, writeRecord } from './record.ts'
import { makeFolder, makePrivateFolder } from '../../system/private-files.ts'

/** Kept free for the line that stands in place of the missing middle. */
const markBytes = 128

export interface WriterOptions {
  dir: string
  record: Omit<ArtifactRecord, 'writer'>
  quotaBytes: number
  /** Its files may be read by other users. */
  isShared: boolean
  /** The folder of a second link to the file, by which sandboxed runs of its owner see it; null: they do not. */
  view: string | null
  /** Runs once the files are there. Gives a notice for the reader, if there is one. */
  onCreated(): string | null
}

/** How an artifact ended: kept, or lost and why. */
export interface Kept {
  artifact: ArtifactRef | null
  /** A sentence for the reader where something is lost. */
  notice: string | null
}

/**
 * Writes one artifact while its run goes on, each piece as it comes, one at a time: a disk that is slow holds
 * up the writes, not the event loop. A failure (full disk, no permission, a folder that is gone) ends the
 * artifact, never the run.
 */
export class ArtifactWriter {
  readonly id: string
  readonly path: string
  readonly #options: WriterOptions
  readonly #record: ArtifactRecord
  readonly #headBytes: number
  readonly #ringBytes: number
  /** Open files: the first bytes, and the last ones of what is over half of the quota. */
  #data: number | null = null
  #ring: number | null = null
  #shown: string | null = null
  #bytes = 0
  /** Settles after the last step on the disk that was asked for. */
  #steps: Promise<void> = Promise.resolve()
  #failure: string | null = null
  #notice: string | null = null

  constructor(options: WriterOptions) {
    this.#options = options
    this.#record = { ...options.record, writer: identifySelf() }
    this.id = options.record.id
    this.path = pathsOf(options.dir, this.id).data
    this.#headBytes = Math.floor(options.quotaBytes / 2)
    this.#ringBytes = Math.max(options.quotaBytes - this.#headBytes - markBytes, 1)
    try {
      this.#create()
    } catch (error) {
      this.#steps = this.#fail(error)
    }
  }

  /** Where it stands; null once it has failed. */
  get artifact(): ArtifactRef | null {
    if (this.#failure !== null) return null
    return {
      id: this.id,
      uri: `artifact://${this.id}`,
      path: this.path,
      bytes: this.#bytes,
      complete: this.#bytes <= this.#headBytes + this.#ringBytes,
    }
  }

  /** The memory of `bytes` is free again when the promise settles; it never rejects. */
  write(bytes: Uint8Array): void | Promise<void> {
    const from = this.#bytes
    this.#bytes += bytes.length
    if (this.#failure === null) return this.#queue(() => this.#store(bytes, from))
  }

  /** Puts the file in order and closes it. */
  async finish(): Promise<Kept> {
    await this.#queue(() => this.#complete())
    if (this.#failure !== null) {
      return { artifact: null, notice: `The complete output was not kept: ${this.#failure}` }
    }
    const { artifact } = this
    const notice =
      'The artifact is over its quota: it holds both ends of the output, not the middle.'
    return { artifact, notice: artifact?.complete === false ? notice : this.#notice }
  }

  /** Leaves nothing behind. */
  discard(): Promise<void> {
    return this.#queue(() => this.#fail('discarded'))
  }

  /** Takes a step when those before it are done, unless one of them has failed. */
  #queue(step: () => Promise<void>): Promise<void> {
    this.#steps = this.#steps
      .then(() => (this.#failure === null ? step() : undefined))
      .catch((error: unknown) => this.#fail(error))
    return this.#steps
  }

  /** Removes its files, so that a full disk gets its space back at once. */
  async #fail(error: unknown): Promise<void> {
    this.#failure ??= messageOf(error)
    try {
      await this.#close()
      const paths = Object.values(pathsOf(this.#options.dir, this.id))
      for (const path of this.#shown === null ? paths : [...paths, this.#shown]) {
        await promises.rm(path, { force: true })
      }
    } catch {
      // Nothing more can be done in a folder that cannot be changed; the notice tells of the loss.
    }
  }

  /** Who may read its files. */
  get #mode(): number {
    return this.#options.isShared ? 0o644 : 0o600
  }

  #create(): void {
    const { dir, isShared, view } = this.#options
    if (isShared) makeFolder(dir)
    else makePrivateFolder(dir)
    this.#data = openSync(this.path, createFlags, this.#mode)
    writeRecord(dir, this.#record, this.#mode)
    if (view !== null) {
      const shown = join(view, basename(this.path))
      try {
        linkSync(this.path, shown)
        this.#shown = shown
      } catch {
        // The view may be on another file system: then only the tool `artifact` reads the file.
      }
    }
    this.#notice = this.#options.onCreated()
  }

  /** `from`: how many bytes there were before. */
  async #store(bytes: Uint8Array, from: number): Promise<void> {
    const head = bytes.subarray(0, Math.max(this.#headBytes - from, 0))
    if (head.length > 0) await writeAt(this.#data!, head, from)
    for (let at = head.length; at < bytes.length;) {
      this.#ring ??= openSync(pathsOf(this.#options.dir, this.id).ring, createFlags, this.#mode)
      const place = (from + at - this.#headBytes) % this.#ringBytes
      const piece = bytes.subarray(at, at + this.#ringBytes - place)
      await writeAt(this.#ring, piece, place)
      at += piece.length
    }
  }

  /** Head, mark and tail into one file; the record says that it is finished. */
  async #complete(): Promise<void> {
    const { dir } = this.#options
    if (this.#ring !== null) await this.#appendRing(this.#data!, pathsOf(dir, this.id).ring)
    // A name in the view would keep its count of links above 0.
    if (!existsSync(this.path)) throw new Error('its file was removed while the run went on')
    const complete = this.artifact?.complete ?? false
    const ended = { endedAt: new Date().toISOString(), bytes: this.#bytes, complete }
    writeRecord(dir, { ...this.#record, ...ended }, this.#mode)
    await this.#close()
  }

  async #appendRing(data: number, ringPath: string): Promise<void> {
    const missing = Math.max(this.#bytes - this.#headBytes - this.#ringBytes, 0)
    const text = `\n… [${missing} bytes omitted: the artifact is over its quota] …\n`
    const mark = Buffer.from(missing > 0 ? text : '')
    await writeAt(data, mark, this.#headBytes)
    let end = this.#headBytes + mark.length
    const oldest = missing % this.#ringBytes
    const parts = [{ start: oldest }, { start: 0, end: oldest - 1 }]
    for (const part of oldest > 0 ? parts : [{ start: 0 }]) {
      for await (const bytes of createReadStream(ringPath, part)) {
        await writeAt(data, bytes as Buffer, end)
        end += (bytes as Buffer).length
      }
    }
    await promises.rm(ringPath, { force: true })
  }

  /** A close can report a late write error (quota, network file system). */
  async #close(): Promise<void> {
    const files = [this.#data, this.#ring]
    this.#data = null
    this.#ring = null
    await Promise.all(files.flatMap((file) => (file === null ? [] : closeFile(file))))
  }
}

const closeFile = promisify(close)
const writeFile = promisify(write)

/** Writes all of the bytes at a place of a file. */
async function writeAt(file: number, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await writeFile(
      file,
      bytes,
      done,
      bytes.length - done,
      position + done,
    )
    done += bytesWritten
  }
}
