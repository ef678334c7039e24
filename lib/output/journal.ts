import { LastBytes, noBytes } from './bytes/ends.ts'
import type { KeptText } from './bounds.ts'
import { characterStart } from './bytes/utf8.ts'

const newline = 0x0a
const keptBytes = 1024 * 1024

/** The clean text as it grows, for readers who hold a cursor: the last MiB. */
export class Journal {
  readonly #last = new LastBytes(keptBytes)
  #total = 0
  #endsLine = true

  append(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.#last.write(bytes)
    this.#total += bytes.length
    this.#endsLine = bytes.at(-1) === newline
  }

  endLine(): void {
    if (!this.#endsLine) this.append(Uint8Array.of(newline))
  }

  /** All text that is still kept, and how many bytes there were before it. Valid until more comes. */
  get kept(): KeptText {
    const text = this.#last.bytes
    const start = this.#total - text.length
    // The oldest character may have lost its beginning.
    const border = start === 0 ? 0 : characterStart(text, 0)
    return { text: text.subarray(border), start: start + border }
  }
}

/**
 * Brings one stream into the journal. Text that a terminal command may still change is shown early,
 * since a prompt waits for its answer; when it does change, the new state follows on a line of its own.
 */
export class JournalFeed {
  readonly #journal: Journal
  /** Shown, not final. */
  #early = noBytes
  #isStale = false

  constructor(journal: Journal) {
    this.#journal = journal
  }

  /** Final text, in order. */
  settle(bytes: Buffer): void {
    if (this.#early.length === 0 && !this.#isStale) {
      this.#journal.append(bytes)
      return
    }
    const same = this.#show(bytes)
    this.#early = this.#early.subarray(Math.min(same, this.#early.length))
  }

  /** All text that is not final yet. */
  preview(pending: Buffer): void {
    const same = this.#show(pending)
    // Something shown was taken back and nothing has come in its place yet.
    if (same === pending.length && same < this.#early.length) this.#isStale = true
    this.#early = Buffer.from(pending)
  }

  /** The same for whole lines alone; what is shown beyond them already stays. */
  previewLines(lines: Buffer): void {
    if (lines.length > this.#early.length) this.preview(lines)
  }

  /** Appends what is new; answers how much of what was shown early still stands. */
  #show(bytes: Buffer): number {
    const common = commonLength(bytes, this.#early)
    if (common === bytes.length) return common
    if (common < this.#early.length || this.#isStale) {
      this.#journal.endLine()
      const lineStart = common === 0 ? 0 : bytes.lastIndexOf(newline, common - 1) + 1
      this.#journal.append(bytes.subarray(lineStart))
      this.#isStale = false
      return this.#early.length
    }
    this.#journal.append(bytes.subarray(common))
    return common
  }
}

function commonLength(a: Buffer, b: Buffer): number {
  const length = Math.min(a.length, b.length)
  if (a.subarray(0, length).equals(b.subarray(0, length))) return length
  let common = 0
  while (a[common] === b[common]) common++
  return common
}
