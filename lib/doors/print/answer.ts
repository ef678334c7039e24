import { type RunEvent, type RunListener, listenToText } from '../../protocol/result/event.ts'
import type { RequestInput } from '../../protocol/request/request.ts'
import type { Result } from '../../protocol/result/result.ts'
import {
  renderEvent,
  renderJson,
  renderResultLine,
  describeReturn,
  describeTasks,
  describeTrouble,
} from '../../render/messages.ts'
import type { TaskCounts } from '../../protocol/array.ts'
import { usualSize } from '../../protocol/limits.ts'
import type { Streams, Writer } from '../streams.ts'
import type { PrintOptions } from '../../protocol/prompt.ts'

/** How one result reaches the streams of print. */
export interface Answer {
  /** What the format means for the request, where the caller did not say. */
  fields: Partial<RequestInput>
  /** Whether the result is to carry the text. */
  text: boolean
  onEvent: RunListener
  finish(result: Result): Promise<void>
}

/** What is asked of the artifact. */
type Kept = Pick<RequestInput, 'artifact'>

/** How long print shows the run: one in the background not even while it waits until that is ready. */
export type Wait = 'to the end' | 'for a while' | 'not at all'

/** `keepsText`: the result is told to a model later, so it carries its text in every format. */
export function createAnswer(
  options: PrintOptions,
  wait: Wait,
  { streams }: Pick<PassThrough, 'streams'>,
  keepsText: boolean,
): Answer {
  const isArray = options.run.array !== undefined
  const artifact = options.run.artifact ?? (wait === 'to the end' ? undefined : 'always')
  const kept = artifact === undefined ? {} : { artifact }
  switch (options.outputFormat) {
    case 'json':
      return {
        fields: kept,
        text: true,
        onEvent: () => undefined,
        finish: async (result) => void (await streams.stdout.write(renderJson(result))),
      }
    case 'stream-json':
      return { ...answerWithEvents(streams, isArray), fields: kept }
    case 'text':
      if (wait === 'not at all') return answerWithJob(kept, options, streams)
      return wantsBoundedText(options.run)
        ? answerWithText(kept, options, streams)
        : passThrough({ kept, options, streams, keepsText, wait })
  }
}

/** `isArray`: what its tasks wrote comes with their ends, and not once more. */
function answerWithEvents({ stdout }: Streams, isArray: boolean): Omit<Answer, 'fields'> {
  const tell = listenToText((event) => stdout.write(renderEvent(event)))
  let isOver = false
  return {
    text: true,
    onEvent(event) {
      isOver ||= event.type === 'exited'
      return isArray && event.type === 'output' ? undefined : tell(event)
    },
    async finish(result) {
      // A run that goes on has no last event; its result says how it stands.
      if (result.status === 'running' && !isOver) await stdout.write(renderResultLine(result))
    },
  }
}

interface PassThrough {
  kept: Kept
  options: PrintOptions
  streams: Streams
  keepsText: boolean
  wait: Wait
}

/**
 * The bytes of the command, unchanged and live, each stream to its own: by its own hand where nothing
 * else needs them, else through events.
 */
function passThrough({ kept, options, streams, keepsText, wait }: PassThrough): Answer {
  const job = createJobNote()
  const isWatched = options.run.array !== undefined && !options.quiet
  const progress = isWatched ? createProgress(streams.stderr) : null
  const isGivenOn = wait === 'to the end' && !keepsText && !streams.stdout.isSocket
  return {
    fields: {
      streams: options.run.streams ?? 'separate',
      ...(isGivenOn ? { outputTo: { stdout: 1, stderr: 2 } } : {}),
      ...(keepsText ? { truncate: 'head-tail' } : { artifact: 'never' }),
      ...kept,
    },
    text: keepsText,
    onEvent(event) {
      job.hear(event)
      if (event.type === 'task') return progress?.draw(event)
      if (event.type !== 'output') return
      const writer = event.stream === 'stderr' ? streams.stderr : streams.stdout
      const cleared = progress?.giveWay(event.bytes)
      return cleared ? cleared.then(() => writer.write(event.bytes)) : writer.write(event.bytes)
    },
    async finish(result) {
      await progress?.clear()
      await tellResult(result, job.describe(result), options, streams)
    },
  }
}

/** Where limits were asked for, the answer is the text within them, when it is complete. */
function answerWithText(kept: Kept, options: PrintOptions, streams: Streams): Answer {
  const job = createJobNote()
  return {
    fields: { streams: options.run.streams ?? 'separate', ...kept },
    text: true,
    onEvent: (event) => job.hear(event),
    async finish(result) {
      await streams.stdout.write(result.output ?? result.stdout ?? '')
      await streams.stderr.write(result.stderr ?? '')
      await tellResult(result, job.describe(result), options, streams)
    },
  }
}

/** Where nobody waits for the end, the answer is how to come back to the run. */
function answerWithJob(kept: Kept, options: PrintOptions, streams: Streams): Answer {
  const job = createJobNote()
  return {
    fields: kept,
    text: true,
    onEvent: (event) => job.hear(event),
    async finish(result) {
      // Stdout holds the id alone, for `job=$(nacre -c … --background)`; what has ended is no job.
      if (result.status === 'running') await streams.stdout.write(`${result.id}\n`)
      else
        for (const text of [result.output, result.stdout, result.stderr])
          await streams.stderr.write(text ?? '')
      await tellResult(result, job.describe(result), options, streams)
    },
  }
}

/** What a person needs to know of a run that goes on. */
function createJobNote() {
  let pid: number | null = null
  return {
    hear(event: RunEvent): void {
      if (event.type === 'started') pid = event.pid
    },
    describe: (result: Result) => (result.status === 'running' ? describeReturn(result, pid) : []),
  }
}

function wantsBoundedText(run: PrintOptions['run']): boolean {
  const limits = [run.head, run.tail, run.maxLines, run.maxBytes, run.truncate]
  return limits.some((limit) => limit !== undefined)
}

/**
 * What nacre has to say goes to stderr. A command that ended by itself has the last word there, so
 * that both streams hold what its shell would have written; a person at a terminal is told more, and
 * everybody what a stop has left, and that a run went without the sandbox that it was to have.
 */
export async function tellResult(
  result: Result,
  job: readonly string[],
  options: PrintOptions,
  { stderr }: Streams,
): Promise<void> {
  if (options.quiet) return
  const tasks = describeTasks(result)
  const left = result.status === 'stopped' ? result.notices : []
  const lines = [...describeTrouble(result), ...left, ...tasks, ...job]
  const isWithoutSandbox = result.sandbox?.degraded === true
  if (lines.length === 0 && (stderr.isTerminal || isWithoutSandbox)) lines.push(...result.notices)
  if (options.run.artifact === 'always') {
    for (const kept of [result.artifact, result.stderrArtifact]) {
      if (kept) lines.push(`Output kept: ${kept.uri} (${kept.path})`)
    }
  }
  for (const line of lines) await stderr.write(`nacre: ${line}\n`)
}

/** A line on a terminal that says how many tasks of an array have ended, below what these write. */
interface Progress {
  /** A task has ended. */
  draw(counts: TaskCounts): Promise<void>
  /** Output of a task comes: the line gives way to it. */
  giveWay(bytes: Uint8Array): Promise<void>
  /** Takes the line away, before something else is written. */
  clear(): Promise<void>
}

/** Null if nobody watches. */
function createProgress(stderr: Writer): Progress | null {
  if (!stderr.isTerminal) return null
  const takeAway = '\r\u001b[K'
  let isShown = false
  /** What was written last ends without a newline, where the line may not stand. */
  let isInLine = false

  async function clear(): Promise<void> {
    if (!isShown) return
    isShown = false
    await stderr.write(takeAway)
  }

  return {
    async draw({ ended, failed, total }) {
      const { columns } = stderr.size() ?? usualSize
      const width = Math.max(10, Math.min(40, columns - 60))
      const bar = '#'.repeat(Math.round((ended / total) * width)).padEnd(width, '.')
      const line = `[${bar}] ${ended} of ${total}${failed === 0 ? '' : `, ${failed} failed`}`
      const before = isShown ? takeAway : isInLine ? '\n' : ''
      isShown = true
      isInLine = false
      // A longer line would go on in the next one, and could not be taken away.
      await stderr.write(before + line.slice(0, columns - 1))
    },
    async giveWay(bytes) {
      await clear()
      if (bytes.length > 0) isInLine = bytes.at(-1) !== 0x0a
    },
    clear,
  }
}
