import { contradiction } from '../errors.ts'
import { limits } from '../limits.ts'
import * as shape from '../shape/shape.ts'

const positive = (description: string) => shape.integer(description, { min: 1 })

/** How much of a text is given at once. Both limits hold, whichever is hit first, in whole lines. */
export const boundParams = {
  /** Only the first lines of what there is to read. */
  head: positive('Only the first lines'),
  /** Only the last lines of it, after `head`. */
  tail: positive('Only the last lines (after head)'),
  /** At most 2000, which is the default. */
  maxLines: positive(`At most so many lines (default and at most ${limits.maxLines})`),
  /** At most 51,200, which is the default. */
  maxBytes: positive(`At most so many bytes (default and at most ${limits.maxBytes})`),
}
export interface Bounds extends shape.Optional<typeof boundParams> {}

/** Which part of the text of a run is wanted. The reader holds the cursor, the run keeps no reader. */
export const readingParams = {
  /** Where the last reading of the same stream ended; 0 is the beginning. */
  cursor: shape.integer('Where the last reading ended (default 0, the beginning)'),
  /** One of two separate streams, with cursors of its own; without it, both together. */
  stream: shape.choice(
    ['stdout', 'stderr'],
    'One of two separate streams, with cursors of its own (default: both together)',
  ),
  ...boundParams,
}
export interface Reading extends shape.Optional<typeof readingParams> {}

/** What a reading gives. */
export const textPart = {
  text: shape.anyText(),
  /** Where `text` ends: the `cursor` to go on with, also within a long line. In bytes of clean text. */
  cursor: shape.integer(),
  /** Bytes between the cursor that was given and `text`: no longer kept, or passed over by `tail`. */
  truncatedBefore: shape.integer(),
  /** Bytes that are there already behind `cursor`; 0 where everything was read. */
  moreBytes: shape.integer(),
}
export interface TextPart extends shape.InferFields<typeof textPart> {}

/** Where a reading of lines begins: at most one of `offset`, `line` and `head` or `tail`. */
export const lineRangeParams = {
  /** Lines to pass over: `nextOffset` of the answer before. */
  offset: shape.integer('Lines to pass over: next_offset of the answer before (default 0)'),
  /** The line to begin with, counted from 1: `line` of the answer before. */
  line: positive('Begin with this line, counted from 1: line of the answer before'),
  /** The character of that line to begin with, counted from 1: `column` of the answer before. */
  column: positive(
    'Begin with this character of that line, counted from 1: column of the answer before',
  ),
  /** The same as `maxLines`. */
  limit: positive(`How many lines (default and at most ${limits.maxLines})`),
  ...boundParams,
  tail: positive('Only the last lines'),
}
export interface LineRange extends shape.Optional<typeof lineRangeParams> {}

/** Throws `MisuseError` where two words of one range cannot both be meant. */
export function checkLineRange(range: LineRange): void {
  const refuse = (one: keyof LineRange, others: (keyof LineRange)[]) =>
    refuseBoth(range, one, others)
  refuse('tail', ['head', 'offset', 'line', 'column', 'limit'])
  refuse('head', ['offset', 'line', 'column', 'limit'])
  refuse('offset', ['line'])
}

/** Throws `MisuseError` where a field was given together with one of the others. */
export function refuseBoth<Name extends string>(
  given: Partial<Record<Name, unknown>>,
  one: Name,
  others: readonly Name[],
): void {
  const other = others.find((name) => name !== one && given[name] !== undefined)
  if (given[one] !== undefined && other !== undefined) throw contradiction(other, one)
}
