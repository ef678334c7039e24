import * as shape from '../shape/shape.ts'

const { anyText, boolean, choice, integer, list, nullable, object } = shape

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
