import { MisuseError } from './errors.ts'
import { limits } from './limits.ts'
import type { Params } from './params.ts'

/** How much of a text is given at once. Both limits hold, whichever is hit first, in whole lines. */
export interface Bounds {
  /** Only the first lines of what there is to read. */
  head?: number
  /** Only the last lines of it, after `head`. */
  tail?: number
  /** At most 2000, which is the default. */
  maxLines?: number
  /** At most 51,200, which is the default. */
  maxBytes?: number
}

export type OneStream = 'stdout' | 'stderr'

/** Which part of the text of a run is wanted. The reader holds the cursor, the run keeps no reader. */
export interface Reading extends Bounds {
  /** Where the last reading of the same stream ended; 0 is the beginning. */
  cursor?: number
  /** One of two separate streams, with cursors of its own; without it, both together. */
  stream?: OneStream
}

/** What a reading gives. */
export interface TextPart {
  text: string
  /** Where `text` ends: the `cursor` to go on with, also within a long line. In bytes of clean text. */
  cursor: number
  /** Bytes between the cursor that was given and `text`: no longer kept, or passed over by `tail`. */
  truncatedBefore: number
  /** Bytes that are there already behind `cursor`; 0 where everything was read. */
  moreBytes: number
}

const count = { kind: 'integer', min: 1, max: Number.MAX_SAFE_INTEGER } as const
const position = { ...count, min: 0 } as const

export const boundParams: Params = {
  head: { type: count, description: 'Only the first lines' },
  tail: { type: count, description: 'Only the last lines (after head)' },
  maxLines: {
    type: count,
    description: `At most so many lines (default and at most ${limits.maxLines})`,
  },
  maxBytes: {
    type: count,
    description: `At most so many bytes (default and at most ${limits.maxBytes})`,
  },
}

/** `Reading` as the parameters of a method or a tool. */
export const readingParams: Params = {
  cursor: {
    type: position,
    description: 'Where the last reading ended (default 0, the beginning)',
  },
  stream: {
    type: { kind: 'choice', values: ['stdout', 'stderr'] },
    description: 'One of two separate streams, with cursors of its own (default: both together)',
  },
  ...boundParams,
}

/** Where a reading of lines begins: at most one of `offset`, `line` and `head` or `tail`. */
export interface LineRange extends Bounds {
  /** Lines to pass over: `nextOffset` of the answer before. */
  offset?: number
  /** The line to begin with, counted from 1: `line` of the answer before. */
  line?: number
  /** The character of that line to begin with, counted from 1: `column` of the answer before. */
  column?: number
  /** The same as `maxLines`. */
  limit?: number
}

/** `LineRange` as the parameters of a method or a tool. */
export const lineRangeParams: Params = {
  offset: {
    type: position,
    description: 'Lines to pass over: next_offset of the answer before (default 0)',
  },
  line: {
    type: count,
    description: 'Begin with this line, counted from 1: line of the answer before',
  },
  column: {
    type: count,
    description:
      'Begin with this character of that line, counted from 1: column of the answer before',
  },
  limit: { type: count, description: `How many lines (default and at most ${limits.maxLines})` },
  ...boundParams,
}

/** Throws `MisuseError` where two words of one range cannot both be meant. */
export function checkLineRange(range: LineRange): void {
  const given = (Object.keys(range) as (keyof LineRange)[]).filter(
    (name) => range[name] !== undefined,
  )
  const refuse = (one: keyof LineRange, others: readonly (keyof LineRange)[]) => {
    const other = given.find((name) => name !== one && others.includes(name))
    if (given.includes(one) && other !== undefined) {
      const message = `\`${one}\` and \`${other}\` contradict each other; leave one of them out`
      throw new MisuseError('invalid_field', message, one)
    }
  }
  refuse('tail', ['head', 'offset', 'line', 'column', 'limit'])
  refuse('head', ['offset', 'line', 'column', 'limit'])
  refuse('offset', ['line'])
}
