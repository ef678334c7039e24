import type { StreamName } from './event.ts'

/** An artifact as a list shows it. */
export interface ArtifactInfo {
  id: string
  uri: string
  path: string
  runId: string
  /** The beginning of its command. */
  command: string
  stream: StreamName
  /** ISO 8601, UTC. */
  createdAt: string
  /** Null while its run goes on, or where it was cut off. */
  endedAt: string | null
  /** That the run wrote to this stream; until it has ended, those that are in the file. */
  bytes: number
  /** False: the middle is missing, both ends are there; or its run has not ended. */
  complete: boolean
  /** Its run goes on. */
  isLive: boolean
}

/** Which lines; `head` and `tail` go before `offset` and `limit`. */
export interface LineRange {
  /** Lines to pass over: `nextOffset` of the call before. */
  offset?: number
  limit?: number
  head?: number
  tail?: number
}

/** Lines of the clean text of an artifact. */
export interface Lines {
  text: string
  /** The first and the last line in `text`, 1-based; both 0 where there is none. */
  from: number
  to: number
  /** The `offset` to go on reading with; null at the end. */
  nextOffset: number | null
  /** Null where the reading ended before the end of the text. */
  totalLines: number | null
}

/** What a search found. */
export interface Matches {
  /** As `grep -n` prints it: `12:match`, `11-context`, `--` between groups. */
  text: string
  matches: number
  /** The `offset` to go on searching with; null at the end. */
  nextOffset: number | null
  /** The time was over before the end: `nextOffset` is where the search stood. */
  timedOut: boolean
}
