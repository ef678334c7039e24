import * as shape from '../shape/shape.ts'
import { contradiction } from '../errors.ts'
import { limits } from '../limits.ts'
import { origins } from '../origin.ts'
import { outcome, statuses } from './result.ts'

const { anyText, boolean, choice, integer, list, nullable, object } = shape

const positive = (description: string) => integer(description, { minimum: 1 })

/** How much of a text is given at once. Both limits hold, whichever is hit first, in whole lines. */
export const boundParams = {
  head: positive('Only the first lines'),
  tail: positive('Only the last lines (after head)'),
  maxLines: positive(`At most so many lines (default and at most ${limits.maxLines})`),
  maxBytes: positive(`At most so many bytes (default and at most ${limits.maxBytes})`),
}
export interface Bounds extends shape.Optional<typeof boundParams> {}

/** Which part of the text of a run is wanted. The reader holds the cursor, the run keeps no reader. */
export const readingParams = {
  cursor: integer('Where the last reading ended (default 0, the beginning)'),
  stream: choice(
    ['stdout', 'stderr'],
    'One of two separate streams, with cursors of its own (default: both together)',
  ),
  ...boundParams,
}
export interface Reading extends shape.Optional<typeof readingParams> {}

/** What a reading gives. */
const textPart = {
  text: anyText(),
  /** Where `text` ends: the `cursor` to go on with, also within a long line. In bytes of clean text. */
  cursor: integer(),
  /** Bytes between the cursor that was given and `text`: no longer kept, or passed over by `tail`. */
  truncatedBefore: integer(),
  /** Bytes that are there already behind `cursor`; 0 where everything was read. */
  moreBytes: integer(),
}
export interface TextPart extends shape.InferFields<typeof textPart> {}

/** Where a reading of lines begins: at most one of `offset`, `line` and `head` or `tail`. */
export const lineRangeParams = {
  offset: integer('Lines to pass over: next_offset of the answer before (default 0)'),
  line: positive('Begin with this line, counted from 1: line of the answer before'),
  column: positive(
    'Begin with this character of that line, counted from 1: column of the answer before',
  ),
  limit: positive(`How many lines (default and at most ${limits.maxLines})`),
  ...boundParams,
  tail: positive('Only the last lines'),
}
export interface LineRange extends shape.Optional<typeof lineRangeParams> {}

/** Throws `MisuseError` where two words of one range cannot both be meant. */
export function checkLineRange(range: LineRange): void {
  refuseBoth(range, 'tail', ['head', 'offset', 'line', 'column', 'limit'])
  refuseBoth(range, 'head', ['offset', 'line', 'column', 'limit'])
  refuseBoth(range, 'offset', ['line'])
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

export const streamNames = ['output', 'stdout', 'stderr'] as const

export const artifactInfoShape = object({
  id: anyText(),
  uri: anyText(),
  path: anyText(),
  runId: anyText(),
  /** The beginning of its command. */
  command: anyText(),
  stream: choice(streamNames),
  /** ISO 8601, UTC. */
  createdAt: anyText(),
  /** Null while its run goes on, or where it was cut off. */
  endedAt: nullable(anyText()),
  /** That the run wrote to this stream; until it has ended, those that are in the file. */
  bytes: integer(),
  /** False: the middle is missing, both ends are there; or its run has not ended. */
  complete: boolean(),
  /** Its run goes on. */
  isLive: boolean(),
})
/** An artifact as a list shows it. */
export interface ArtifactInfo extends shape.Infer<typeof artifactInfoShape> {}

export const linesShape = object({
  text: anyText(),
  /** The first and the last line in `text`, 1-based; both 0 where there is none. */
  from: integer(),
  to: integer(),
  /** The `offset` to go on with in whole lines, which passes over what is left of one; null at the end. */
  nextOffset: nullable(integer()),
  /** The place to go on with, a line and a character of it, both counted from 1: within a long line too. */
  line: nullable(integer()),
  column: nullable(integer()),
  /** Null where the reading ended before the end of the text. */
  totalLines: nullable(integer()),
})
/** A part of the clean text of an artifact. */
export interface Lines extends shape.Infer<typeof linesShape> {}

export const rawBytesShape = object({
  base64: anyText(),
  /** Where they stand in the output, counted from 0. */
  offset: integer(),
  /** The `offset` to go on reading with; null at the end. */
  nextOffset: nullable(integer()),
  totalBytes: integer(),
})

export const matchesShape = object(
  {
    /** As `grep -n` prints it: `12:match`, `11-context`, `--` between groups. */
    text: anyText(),
    matches: integer(),
    /** Where the matches are, in their order; both counted from 1, the column in characters. */
    places: list(object({ line: integer(), column: integer() })),
    /** The `offset` to go on searching with; null at the end. */
    nextOffset: nullable(integer()),
    /** Time or memory was over before the end: `nextOffset` is where the search stood. */
    timedOut: boolean(),
  },
  {
    /** A line, counted from 1, that took all the time or memory of a search: `nextOffset` is behind it, and it is not searched. */
    passedOver: integer(),
    /** The first line, counted from 1, of more than 16 MiB, of which only the beginning was searched. */
    partlySearched: integer(),
  },
)
/** What a search found. */
export interface Matches extends shape.Infer<typeof matchesShape> {}

/** One line of the list of jobs: of any nacre of this user. */
export const jobEntryShape = object({
  /** Of the run. */
  id: anyText(),
  /** The same: a result has it while its run is a job. */
  jobId: anyText(),
  ...shape.pick(outcome, ['status', 'exitCode', 'signal', 'reason', 'command', 'cwd']),
  ...shape.pick(outcome, ['durationMs', 'error', 'artifact']),
  /** Null where a process without a record was found and nothing else is known of it. */
  origin: nullable(choice(origins)),
  /** The first process of the run. */
  pid: nullable(integer()),
  /** It has a terminal, which a person can attach to. */
  pty: boolean(),
  /** The nacre that holds the job, and whether it still runs. */
  ownerPid: nullable(integer()),
  ownerAlive: boolean(),
  /** ISO 8601, UTC. */
  startedAt: anyText(),
  endedAt: nullable(anyText()),
})
export interface JobEntry extends shape.Infer<typeof jobEntryShape> {}

/** How jobs can be chosen. */
export const jobFilter = {
  status: choice(
    ['running', 'ended', 'exited', 'signaled', 'stopped', 'lost', 'not_started'],
    'Only jobs that stand so; `ended` is every status but `running`',
  ),
  limit: integer('Only the newest ones (default all)', { minimum: 1 }),
}
export interface JobFilter extends shape.Optional<typeof jobFilter> {}

/** A part of what a job wrote, and how the job stands. */
export const jobOutputShape = object({ ...textPart, status: choice(statuses) })
export interface JobOutput extends shape.Infer<typeof jobOutputShape> {}
