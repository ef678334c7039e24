import type { Status } from './result.ts'

/** What a job wrote since a cursor that the caller holds. */
export interface JobOutput {
  text: string
  /** For the next read. */
  cursor: number
  /** Bytes of text before `text` that are no longer kept here; 0 when nothing is missing. */
  truncatedBefore: number
  status: Status
}
