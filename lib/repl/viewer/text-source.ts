import type { Executor, Run } from '../../executor/executor.ts'
import { readOn } from '../../executor/run-events.ts'
import { splitLines } from '../../protocol/words.ts'

export type ArtifactStore = NonNullable<Executor['artifacts']>

/** A text that may be too long to hold, read where it is looked at. Lines and columns count from 0. */
export interface TextSource {
  /** Gives of each line what stands from `column` on; of long ones a part. */
  read(from: number, count: number, column?: number): Promise<string[]>
  countLines(signal: AbortSignal): Promise<number>
  /** The first line that matches from this one on, or back from it; null: there is none. */
  find(
    pattern: RegExp,
    from: number,
    backwards: boolean,
    signal: AbortSignal,
  ): Promise<{ line: number; column: number } | null>
  /** Gives the whole text, piece by piece. */
  readAll(signal: AbortSignal): AsyncIterable<string | Uint8Array>
  /** Whether more text may come. */
  readonly grows: boolean
  close(): Promise<void>
}

/** So many bytes of a line are enough for any screen. */
const farBytes = 8192

/** A text at hand; of a run that goes on, `read` gives all that there is now. */
export function openLines(read: () => readonly string[], grows = () => false): TextSource {
  return {
    get grows() {
      return grows()
    },
    async *readAll() {
      yield read()
        .map((line) => `${line}\n`)
        .join('')
    },
    read: async (from, count, column = 0) =>
      read()
        .slice(from, from + count)
        .map((line) => line.slice(column)),
    countLines: async () => read().length,
    async find(pattern, from, backwards) {
      const lines = read()
      const step = backwards ? -1 : 1
      for (let line = from; line >= 0 && line < lines.length; line += step) {
        const column = (lines[line] ?? '').search(pattern)
        if (column >= 0) return { line, column }
      }
      return null
    },
    close: async () => undefined,
  }
}

/** What a run has written so far: from its artifact as soon as it has one, and little before. */
export function openRun(run: Run, artifacts: ArtifactStore | null): TextSource {
  const grows = () => run.look().status === 'running'
  const held = openLines(() => splitLines([...readOn(run, { cursor: 0 })].join('')), grows)
  let kept: Promise<TextSource> | null = null

  async function find(): Promise<TextSource> {
    const artifact = kept ? null : run.look().artifact
    if (artifact && artifacts) kept = openArtifact(artifact.id, artifacts)
    return kept ?? held
  }

  return {
    get grows() {
      return grows()
    },
    async *readAll(signal) {
      yield* (await find()).readAll(signal)
    },
    read: async (...range) => (await find()).read(...range),
    countLines: async (signal) => (await find()).countLines(signal),
    find: async (...wanted) => (await find()).find(...wanted),
    close: async () => (await kept)?.close(),
  }
}

/** The whole clean text of an artifact, cleaned again where it is looked at. */
export async function openArtifact(id: string, artifacts: ArtifactStore): Promise<TextSource> {
  const [text, info] = await Promise.all([artifacts.open(id), artifacts.find(id)])
  return {
    grows: info.isLive,
    readAll: (signal) => text.readOn({ line: 0, column: 0 }, { signal }),
    async read(from, count, column = 0) {
      const lines: string[] = []
      // A part is bounded by bytes too.
      while (lines.length < count) {
        const offset = from + lines.length
        const range = { limit: count - lines.length, offset }
        const inLine = { limit: 1, offset, column: column + 1, maxBytes: farBytes }
        const part = await text.read(column > 0 ? inLine : range)
        if (part.to === 0) break
        lines.push(...splitLines(part.text))
        if (part.nextOffset === null) break
      }
      return lines
    },
    countLines: (signal) => text.countLines({ signal }),
    async find({ source, ignoreCase }, from, backwards, signal) {
      if (from < 0) return null
      return artifacts.findNext(text, { pattern: source, ignoreCase, from, backwards, signal })
    },
    close: () => text.close(),
  }
}
