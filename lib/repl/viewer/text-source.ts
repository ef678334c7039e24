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

/** What a run has written so far: its artifact if it has one by now, else what is held of it. */
export async function openRun(run: Run, artifacts: ArtifactStore | null): Promise<TextSource> {
  const { artifact } = run.look()
  if (artifact && artifacts) return openArtifact(artifact.id, artifacts)
  const read = () => splitLines([...readOn(run, { cursor: 0 })].join(''))
  return openLines(read, () => run.look().status === 'running')
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
