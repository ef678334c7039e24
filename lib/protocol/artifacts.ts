/** An artifact as a list shows it. */
export interface ArtifactInfo {
  id: string
  runId: string
  command: string
  stream: string
  /** ISO 8601, UTC. */
  createdAt: string
  /** Null while its run goes on. */
  endedAt: string | null
  bytes: number
  complete: boolean
  path: string
}

/** Which lines: from line `offset` (1-based) `limit` of them, or the first, or the last. */
export interface LineRange {
  offset?: number
  limit?: number
  head?: number
  tail?: number
}

/** A bounded piece of an artifact's clean text. */
export interface ArtifactText {
  text: string
  /** 1-based line where reading goes on; null at the end. */
  nextOffset: number | null
  totalLines: number
}

/** Reads what runs left behind. An unknown id is misuse (`not_found`). */
export interface ArtifactReader {
  read(id: string, range: LineRange): Promise<ArtifactText>
  /** Lines that match a regular expression, each with its number, and `context` lines around. */
  grep(id: string, pattern: string, options: { context?: number }): Promise<ArtifactText>
  list(): Promise<ArtifactInfo[]>
  remove(id: string): Promise<void>
}
