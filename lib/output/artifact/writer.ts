import type { FileHandle } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { accessSync, constants, existsSync, promises } from 'node:fs'
import type { ArtifactRef } from '../../protocol/result/result.ts'
import { messageOf } from '../../protocol/errors.ts'
import { identifySelf } from '../../system/process/process-table.ts'
import { type ArtifactRecord, createFlags, pathsOf, writeRecord } from './record.ts'
import { makeFolder, makePrivateFolder } from '../../system/private-files.ts'

const bufferBytes = 512 * 1024
/** A reader of the file of a live run sees what was written at the latest so long ago. */
const flushMs = 500
/** Kept free for the line that stands in place of the missing middle. */
const markBytes = 128

/** Where sandboxed runs see the artifacts of their own executor, though the store is hidden from them. */
export interface ArtifactView {
  /** A folder of further names for the files; null until there is a sandbox. */
  folder: string | null
}

export interface WriterOptions {
  dir: string
  record: Omit<ArtifactRecord, 'writer'>
  quotaBytes: number
  /** Its files may be read by other users. */
  isShared: boolean
  view?: ArtifactView | undefined
  /** Runs once the file is there. Gives a notice for the reader, if there is one. */
  onCreated(): string | null
}

/** How an artifact ended: kept, or lost and why. */
export interface Kept {
  artifact: ArtifactRef | null
  /** A sentence for the reader where something is lost. */
  notice: string | null
}

/**
 * Writes one artifact while its run goes on: two buffers, one being filled while the other is on its
 * way to the disk. Files appear with the first bytes that go out. A failure (full disk, no permission,
 * a folder that is gone) ends the artifact, never the run.
 */
export class ArtifactWriter {
  readonly id: string
  readonly path: string
  readonly #options: WriterOptions
  readonly #headBytes: number
  readonly #ringBytes: number
  #filling: Buffer = Buffer.allocUnsafeSlow(bufferBytes)
  #spare: Buffer | null = null
  #used = 0
  #underWay: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #data: FileHandle | null = null
  #ring: FileHandle | null = null
  #record: ArtifactRecord | null = null
  #shown: string[] = []
  /** Bytes that left the buffers. */
  #stored = 0
  #bytes = 0
  #failure: string | null = null
  #notice: string | null = null

  constructor(options: WriterOptions) {
    this.#options = options
    this.id = options.record.id
    this.path = pathsOf(options.dir, this.id).data
    this.#headBytes = Math.floor(options.quotaBytes / 2)
    this.#ringBytes = Math.max(options.quotaBytes - this.#headBytes - markBytes, 1)
  }

  /** Where it stands, or will stand; null once it has failed, or where nothing can be written. */
  get artifact(): ArtifactRef | null {
    if (this.#data === null && this.#failure === null) this.#lookAtFolder()
    if (this.#failure !== null) return null
    return {
      id: this.id,
      uri: `artifact://${this.id}`,
      path: this.path,
      bytes: this.#bytes,
      complete: this.#bytes <= this.#headBytes + this.#ringBytes,
    }
  }

  /** Copies the bytes. A promise where the disk is behind; it never rejects. */
  write(bytes: Uint8Array): void | Promise<void> {
    this.#bytes += bytes.length
    if (this.#failure !== null) return
    return this.#fill(bytes, 0)
  }

  /** Puts the file in order and closes it. */
  async finish(): Promise<Kept> {
    await this.#settle()
    if (this.#failure === null) await this.#attempt(() => this.#complete())
    await this.#close()
    if (this.#failure === null) {
      const { artifact } = this
      const notice =
        'The artifact is over its quota: it holds both ends of the output, not the middle.'
      return { artifact, notice: artifact?.complete === false ? notice : this.#notice }
    }
    await this.#closeAndRemove()
    return { artifact: null, notice: `The complete output was not kept: ${this.#failure}` }
  }

  /** Leaves nothing behind. */
  async discard(): Promise<void> {
    this.#used = 0
    await this.#settle()
    await this.#closeAndRemove()
  }

  #fill(bytes: Uint8Array, from: number): void | Promise<void> {
    let at = from
    while (at < bytes.length && this.#failure === null) {
      if (this.#used === bufferBytes) {
        if (this.#underWay !== null) return this.#underWay.then(() => this.#fill(bytes, at))
        this.#send()
      }
      const take = Math.min(bytes.length - at, bufferBytes - this.#used)
      this.#filling.set(bytes.subarray(at, at + take), this.#used)
      this.#used += take
      at += take
    }
    if (this.#used === bufferBytes && this.#underWay === null) this.#send()
    this.#flushLater()
  }

  #flushLater(): void {
    if (this.#used === 0 || this.#timer !== null || this.#failure !== null) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      if (this.#used > 0 && this.#underWay === null) this.#send()
      this.#flushLater()
    }, flushMs).unref()
  }

  /** Starts writing what is buffered, while the other buffer is filled. */
  #send(): void {
    const full = this.#filling.subarray(0, this.#used)
    const sent = this.#filling
    this.#filling = this.#spare ?? Buffer.allocUnsafeSlow(bufferBytes)
    this.#spare = null
    this.#used = 0
    this.#underWay = this.#sendBuffer(sent, full)
  }

  async #sendBuffer(buffer: Buffer, full: Buffer): Promise<void> {
    await this.#attempt(() => this.#store(full))
    // A full disk gets its space back at once.
    if (this.#failure !== null) await this.#closeAndRemove()
    this.#spare = buffer
    this.#underWay = null
  }

  async #settle(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    await this.#underWay
    if (this.#used > 0 && this.#failure === null) this.#send()
    await this.#underWay
  }

  async #attempt(step: () => Promise<void>): Promise<void> {
    if (this.#failure !== null) return
    try {
      await step()
    } catch (error) {
      this.#failure = messageOf(error)
    }
  }

  /** Who may read its files. */
  get #mode(): number {
    return this.#options.isShared ? 0o644 : 0o600
  }

  /** Before there is a file nobody is to hear of one that cannot be made. */
  #lookAtFolder(): void {
    try {
      this.#makeFolder()
      accessSync(this.#options.dir, constants.W_OK)
    } catch (error) {
      this.#failure = messageOf(error)
    }
  }

  #makeFolder(): void {
    const { dir, isShared } = this.#options
    if (isShared) makeFolder(dir)
    else makePrivateFolder(dir)
  }

  async #create(): Promise<FileHandle> {
    const { dir, record } = this.#options
    this.#makeFolder()
    const data = await promises.open(this.path, createFlags, this.#mode)
    this.#data = data
    this.#record = { ...record, writer: identifySelf() }
    writeRecord(dir, this.#record, this.#mode)
    await this.#show()
    this.#notice = this.#options.onCreated()
    return data
  }

  async #show(): Promise<void> {
    const { view } = this.#options
    if (!view?.folder) return
    this.#shown = [join(view.folder, basename(this.path))]
    // The view may be on another file system: then only the tool `artifact` reads the file.
    for (const name of this.#shown) await promises.link(this.path, name).catch(() => undefined)
  }

  async #store(bytes: Buffer): Promise<void> {
    const data = this.#data ?? (await this.#create())
    const head = bytes.subarray(0, Math.max(this.#headBytes - this.#stored, 0))
    if (head.length > 0) await writeAt(data, head, this.#stored)
    this.#stored += head.length
    let rest = bytes.subarray(head.length)
    while (rest.length > 0) {
      this.#ring ??= await promises.open(
        pathsOf(this.#options.dir, this.id).ring,
        createFlags,
        this.#mode,
      )
      const place = (this.#stored - this.#headBytes) % this.#ringBytes
      const piece = rest.subarray(0, this.#ringBytes - place)
      await writeAt(this.#ring, piece, place)
      this.#stored += piece.length
      rest = rest.subarray(piece.length)
    }
  }

  /** Head, mark and tail into one file; the record says that it is finished. */
  async #complete(): Promise<void> {
    const data = this.#data ?? (await this.#create())
    if (this.#ring !== null) {
      const inRing = this.#stored - this.#headBytes
      const missing = Math.max(inRing - this.#ringBytes, 0)
      let end = this.#headBytes
      if (missing > 0) {
        const mark = Buffer.from(
          `\n… [${missing} bytes omitted: the artifact is over its quota] …\n`,
        )
        await writeAt(data, mark, end)
        end += mark.length
      }
      const oldest = missing > 0 ? inRing % this.#ringBytes : 0
      const length = Math.min(inRing, this.#ringBytes)
      end = await copyRange(this.#ring, oldest, length, data, end)
      await copyRange(this.#ring, 0, missing > 0 ? oldest : 0, data, end)
      await promises.rm(pathsOf(this.#options.dir, this.id).ring, { force: true })
    }
    // A name in the view would keep its count of links above 0.
    if (!existsSync(this.path)) throw new Error('its file was removed while the run went on')
    const record = {
      ...this.#record!,
      endedAt: new Date().toISOString(),
      bytes: this.#bytes,
      complete: this.artifact?.complete ?? false,
    }
    writeRecord(this.#options.dir, record, this.#mode)
  }

  async #close(): Promise<void> {
    const files = [this.#data, this.#ring]
    this.#data = null
    this.#ring = null
    for (const file of files) {
      try {
        await file?.close()
      } catch (error) {
        // A close can report a late write error (quota, network file system).
        this.#failure ??= messageOf(error)
      }
    }
  }

  async #closeAndRemove(): Promise<void> {
    await this.#close()
    for (const path of [...Object.values(pathsOf(this.#options.dir, this.id)), ...this.#shown]) {
      await promises.rm(path, { force: true }).catch(() => {
        // Nothing more can be done in a folder that cannot be changed; the notice tells of the loss.
      })
    }
  }
}

/** Writes all of the bytes at a place of a file. */
async function writeAt(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}

/** Copies at most `length` bytes, up to the end of the source; answers the place after them. */
async function copyRange(
  source: FileHandle,
  from: number,
  length: number,
  target: FileHandle,
  to: number,
): Promise<number> {
  const buffer = Buffer.allocUnsafeSlow(1024 * 1024)
  let done = 0
  while (done < length) {
    const wanted = Math.min(buffer.length, length - done)
    const { bytesRead } = await source.read(buffer, 0, wanted, from + done)
    if (bytesRead === 0) break
    await writeAt(target, buffer.subarray(0, bytesRead), to + done)
    done += bytesRead
  }
  return to + done
}
