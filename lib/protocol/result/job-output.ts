import { textPart } from './reading.ts'
import { statuses } from './result.ts'
import * as shape from '../shape/shape.ts'

/** A part of what a job wrote, and how the job stands. */
export const jobOutputShape = shape.object({ ...textPart, status: shape.choice(statuses) })
export interface JobOutput extends shape.Infer<typeof jobOutputShape> {}
