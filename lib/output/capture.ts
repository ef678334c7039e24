import type { OutputSink } from '../protocol/ports.ts'
import type { Request } from '../protocol/request/request.ts'
import type { StreamName } from '../protocol/result/event.ts'
import type { Reading, TextPart } from '../protocol/result/reading.ts'
import type { ArtifactRef, Result, Truncation } from '../protocol/result/result.ts'
import type { ArtifactStore } from './artifact/store.ts'
import type { ArtifactWriter } from './artifact/writer.ts'
import { type KeptTexts, readKept } from './bounds.ts'
import { FirstBytes } from './bytes/ends.ts'
import { Filter } from './clean/filter.ts'
import { Journal, JournalFeed } from './journal.ts'
import { Window } from './window.ts'

/** Raw output that is kept in memory until it is known whether it must go to disk. */
const undecidedBytes = 256 * 1024

export interface CaptureOptions {
  runId: string
  command: string
  belongsTo?: string | null
  /** Where its sandboxed owner sees what is kept; null: nowhere. */
  view?: string | null
  request: Pick<
    Request,
    'streams' | 'head' | 'tail' | 'maxLines' | 'maxBytes' | 'truncate' | 'artifact' | 'pty'
  > &
    Partial<Pick<Request, 'text'>>
  /** Null: nothing is kept. */
  store: ArtifactStore | null
}

/** The output side of a result. */
export type Captured = Pick<
  Result,
  | 'output'
  | 'stdout'
  | 'stderr'
  | 'truncation'
  | 'artifact'
  | 'stderrTruncation'
  | 'stderrArtifact'
  | 'notices'
>

/** Takes the bytes of one run: raw to an artifact, clean and bounded for the result. */
export interface Capture extends OutputSink {
  write(stream: StreamName, bytes: Uint8Array): void | Promise<void>
  /** The output so far, of a run that goes on. */
  snapshot(): Captured
  /**
   * A bounded part of the clean text, of which the last MiB is there. Throws `MisuseError` where one
   * stream is asked for and the run has merged them.
   */
  read(reading: Reading): TextPart
  /** All clean text that is still there. Valid until the next write. */
  kept(): KeptTexts
  /** After the last write. Never rejects: what is lost is told by a notice. */
  finish(): Promise<Captured>
}

export function createCapture(options: CaptureOptions): Capture {
  return options.request.streams === 'merged' ? captureMerged(options) : captureSeparate(options)
}

function captureMerged(options: CaptureOptions): Capture {
  const journal = new Journal()
  const output = new CapturedStream(options, 'output', [journal])
  const kept = () => {
    output.preview()
    return { output: journal.kept }
  }
  return {
    write: (_stream, bytes) => output.write(bytes),
    snapshot: () => showMerged(output.snapshot()),
    read: (reading) => readKept(kept(), reading),
    kept,
    finish: async () => showMerged(await output.finish()),
  }
}

/**
 * Two pipes: the system does not tell which of two bytes was written first, so that both together are in
 * the order in which they were read, line by line.
 */
function captureSeparate(options: CaptureOptions): Capture {
  const both = new Journal()
  const journals = { stdout: new Journal(), stderr: new Journal() }
  const open = (stream: 'stdout' | 'stderr') =>
    new CapturedStream(options, stream, [both, journals[stream]])
  const stdout = open('stdout')
  const stderr = open('stderr')
  let last = stdout
  const kept = () => {
    stdout.preview()
    stderr.preview()
    return { output: both.kept, stdout: journals.stdout.kept, stderr: journals.stderr.kept }
  }
  return {
    write(stream, bytes) {
      const current = stream === 'stderr' ? stderr : stdout
      if (current !== last) last.previewLines()
      last = current
      return current.write(bytes)
    },
    snapshot: () => showSeparate(stdout.snapshot(), stderr.snapshot()),
    read: (reading) => readKept(kept(), reading),
    kept,
    finish: async () => showSeparate(await stdout.finish(), await stderr.finish()),
  }
}

function showMerged({ text, truncation, artifact, notices }: ShownStream): Captured {
  return { output: text, truncation, artifact, notices }
}

function showSeparate(out: ShownStream, err: ShownStream): Captured {
  return {
    stdout: out.text,
    stderr: err.text,
    truncation: out.truncation,
    artifact: out.artifact,
    stderrTruncation: err.truncation,
    stderrArtifact: err.artifact,
    notices: [...new Set([...out.notices, ...err.notices])],
  }
}

/** What is shown of one stream. */
interface ShownStream {
  text: string
  truncation: Truncation | null
  artifact: ArtifactRef | null
  notices: string[]
}

/** One stream of a run on both of its ways: raw into an artifact, clean into a window. */
class CapturedStream {
  readonly #options: CaptureOptions
  readonly #stream: StreamName
  readonly #filter: Filter
  readonly #window: Window
  readonly #feeds: JournalFeed[]
  /** The window shows the bytes as they came; only those who read the journals get clean text. */
  readonly #isRaw: boolean
  #writer: ArtifactWriter | null = null
  /** Raw bytes from the start on, while there is no writer and one may be needed. */
  #undecided = new FirstBytes(undecidedBytes)

  constructor(options: CaptureOptions, stream: StreamName, journals: readonly Journal[]) {
    this.#options = options
    this.#stream = stream
    const { request } = options
    this.#isRaw = (request.text ?? 'clean') !== 'clean'
    this.#window = new Window(request)
    this.#feeds = journals.map((journal) => new JournalFeed(journal))
    this.#filter = new Filter({
      emit: (text) => {
        if (!this.#isRaw) this.#window.write(text)
        for (const feed of this.#feeds) feed.settle(text)
      },
      ...(request.pty === null ? {} : request.pty),
    })
    if (this.#keepsRaw && request.artifact === 'always') this.#startWriter()
  }

  write(bytes: Uint8Array): void | Promise<void> {
    const stored = this.#storeRaw(bytes)
    if (this.#isRaw) this.#window.write(asBuffer(bytes))
    const cleaned = this.#filter.write(asBuffer(bytes))
    if (cleaned !== undefined) return cleaned.then(() => this.#decide()).then(() => stored)
    this.#decide()
    return stored
  }

  /** Brings what is not final yet to the readers of the journals. */
  preview(): void {
    const pending = this.#filter.pending()
    for (const feed of this.#feeds) feed.preview(pending)
  }

  /**
   * Brings the lines that are finished to the first journal, which another stream is about to write to, so
   * that lines stand there in the order in which they came. A line that is still being written waits: a
   * progress bar would leave each of its states.
   */
  previewLines(): void {
    const pending = this.#filter.pending()
    this.#feeds[0]?.previewLines(pending.subarray(0, pending.lastIndexOf(0x0a) + 1))
  }

  snapshot(): ShownStream {
    const window = this.#isRaw ? this.#window : this.#window.clone()
    if (!this.#isRaw) window.write(this.#filter.pending())
    if (window.isCut && this.#writer === null) this.#startWriter()
    return { ...window.render(), artifact: this.#writer?.artifact ?? null, notices: [] }
  }

  async finish(): Promise<ShownStream> {
    this.#filter.end()
    this.#decide()
    const { text, truncation } = this.#window.render()
    const { artifact } = this.#options.request
    // Without a writer these are all bytes.
    const isText = () => this.#undecided.bytes.equals(Buffer.from(text))
    if (artifact === 'exact' && this.#writer === null && !isText()) this.#startWriter()
    const isKept = truncation !== null || artifact !== 'auto'
    if (!isKept) await this.#writer?.discard()
    const kept = isKept ? await this.#writer?.finish() : undefined
    const notice = kept?.notice ?? null
    const notices = notice === null ? [] : [notice]
    return { text, truncation, artifact: kept?.artifact ?? null, notices }
  }

  get #keepsRaw(): boolean {
    return this.#options.store !== null && this.#options.request.artifact !== 'never'
  }

  #storeRaw(bytes: Uint8Array): void | Promise<void> {
    if (this.#writer !== null) return this.#writer.write(bytes)
    if (!this.#keepsRaw) return
    if (this.#undecided.length + bytes.length > undecidedBytes) {
      return this.#startWriter()?.write(bytes)
    }
    this.#undecided.write(bytes)
  }

  /** The text does not fit any more: the raw bytes are needed. */
  #decide(): void {
    if (this.#writer === null && this.#keepsRaw && this.#window.isCut) this.#startWriter()
  }

  #startWriter(): ArtifactWriter | null {
    const { store, runId, command, belongsTo, view } = this.#options
    if (store === null || !this.#keepsRaw) return null
    this.#writer = store.create({ runId, command, belongsTo, view, stream: this.#stream })
    // The next bytes wait for these.
    void this.#writer.write(this.#undecided.bytes)
    this.#undecided = new FirstBytes(undecidedBytes)
    return this.#writer
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
