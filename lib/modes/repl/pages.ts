import type { Executor } from '../../executor/executor.ts'

type ArtifactStore = NonNullable<Executor['artifacts']>

/** A text that may be too long to hold: read line by line where it is needed. */
export interface Pages {
  /** Lines from `first` (0-based), at most `count`; fewer at the end. */
  read(first: number, count: number): Promise<string[]>
  /** Null while the end has not been seen. */
  readonly total: number | null
  /** The next line from `first` on, or back from it, that the pattern matches; null: there is none. */
  find(pattern: RegExp, first: number, direction: 1 | -1): Promise<number | null>
}

export function pagesOf(lines: readonly string[]): Pages {
  return {
    total: lines.length,
    read: (first, count) => Promise.resolve(lines.slice(first, first + count)),
    find(pattern, first, direction) {
      for (let line = first; line >= 0 && line < lines.length; line += direction) {
        if (pattern.test(lines[line] ?? '')) return Promise.resolve(line)
      }
      return Promise.resolve(null)
    },
  }
}

/** Lines read at once, and held: the pieces last used. */
const chunkLines = 1000
const heldChunks = 20

/** An artifact's clean text. */
export function pagesOfArtifact(id: string, artifacts: ArtifactStore): Pages {
  const held = new Map<number, string[]>()
  let total: number | null = null

  /** A read is bounded by bytes too; what is missing of a chunk is read on. */
  async function readChunk(index: number): Promise<string[]> {
    const known = held.get(index)
    if (known) return known
    const lines: string[] = []
    while (lines.length < chunkLines) {
      const offset = index * chunkLines + lines.length
      const range = { offset, limit: chunkLines - lines.length }
      const { text, totalLines, nextOffset } = await artifacts.read(id, range)
      if (totalLines !== null) total = totalLines
      if (text !== '') lines.push(...(text.endsWith('\n') ? text.slice(0, -1) : text).split('\n'))
      if (nextOffset === null) break
    }
    held.set(index, lines)
    const [oldest] = held.keys()
    if (held.size > heldChunks && oldest !== undefined) held.delete(oldest)
    return lines
  }

  return {
    get total() {
      return total
    },
    async read(first, count) {
      const lines: string[] = []
      while (lines.length < count) {
        const at = first + lines.length
        const chunk = await readChunk(Math.floor(at / chunkLines))
        const more = chunk.slice(at % chunkLines, (at % chunkLines) + count - lines.length)
        if (more.length === 0) break
        lines.push(...more)
      }
      return lines
    },
    async find(pattern, first, direction) {
      for (let line = first; line >= 0; line += direction) {
        const text = (await readChunk(Math.floor(line / chunkLines)))[line % chunkLines]
        if (text === undefined) return null
        if (pattern.test(text)) return line
      }
      return null
    },
  }
}
