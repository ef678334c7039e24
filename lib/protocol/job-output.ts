import type { TextPart } from './reading.ts'
import type { Status } from './result.ts'

/** A part of what a job wrote, and how the job stands. */
export interface JobOutput extends TextPart {
  status: Status
}
