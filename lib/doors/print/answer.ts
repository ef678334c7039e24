import { type RunListener, listenToText } from '../../protocol/result/event.ts'
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
import type { Streams } from '../streams.ts'
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

/** How long print shows the run: one in the background not even while it waits until that is ready. */
export type Wait = 'to the end' | 'for a while' | 'not at all'

/** `keepsText`: the result is told to a model later, so it carries its text in every format. */
export function createAnswer(
  options: PrintOptions,
  wait: Wait,
  streams: Streams,
  keepsText: boolean,
): Answer {
  const { array, artifact = wait === 'to the end' ? undefined : 'always' } = options.run
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
      return { ...answerWithEvents(streams, array !== undefined), fields: kept }
    case 'text':
      if (wait !== 'not at all' && !wantsBoundedText(options.run)) {
        return passThrough(kept, options, wait, streams, keepsText)
      }
      return answerAtEnd(kept, options, wait, streams)
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

/** What is asked of the artifact. */
type Kept = Pick<RequestInput, 'artifact'>

/**
 * The bytes of the command, unchanged and live, each stream to its own: by its own hand where nothing
 * else needs them, else through events.
 */
function passThrough(
  kept: Kept,
  options: PrintOptions,
  wait: Wait,
  streams: Streams,
  keepsText: boolean,
): Answer {
  const isGivenOn = wait === 'to the end' && !keepsText && !streams.stdout.isSocket
  let pid: number | null = null
  return {
    fields: {
      streams: options.run.streams ?? 'separate',
      ...(isGivenOn ? { outputTo: { stdout: 1, stderr: 2 } } : {}),
      ...(keepsText ? { truncate: 'head-tail' } : { artifact: 'never' }),
      ...kept,
    },
    text: keepsText,
    onEvent(event) {
      if (event.type === 'started') pid = event.pid
      if (event.type !== 'output') return
      return (event.stream === 'stderr' ? streams.stderr : streams.stdout).write(event.bytes)
    },
    finish: (result) => tellResult(result, pid, options, streams),
  }
}

/**
 * The text within the limits that were asked for, when it is complete; where nobody waits for the end, how to
 * come back to the run.
 */
function answerAtEnd(kept: Kept, options: PrintOptions, wait: Wait, streams: Streams): Answer {
  const { stdout, stderr } = streams
  const isJob = wait === 'not at all'
  let pid: number | null = null
  return {
    fields: { ...(!isJob && { streams: options.run.streams ?? 'separate' }), ...kept },
    text: true,
    onEvent(event) {
      if (event.type === 'started') pid = event.pid
    },
    async finish(result) {
      // Stdout holds the id alone, for `job=$(nacre -c … --background)`; what has ended is no job.
      if (isJob && result.status === 'running') await stdout.write(`${result.id}\n`)
      else {
        await (isJob ? stderr : stdout).write(result.output ?? result.stdout ?? '')
        await stderr.write(result.stderr ?? '')
      }
      await tellResult(result, pid, options, streams)
    },
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
  pid: number | null,
  options: PrintOptions,
  { stderr }: Streams,
): Promise<void> {
  if (options.quiet) return
  const left = result.status === 'stopped' ? result.notices : []
  const job = result.status === 'running' ? describeReturn(result, pid) : []
  const lines = [...describeTrouble(result), ...left, ...describeTasks(result), ...job]
  const isWithoutSandbox = result.sandbox?.degraded === true
  if (lines.length === 0 && (stderr.isTerminal || isWithoutSandbox)) lines.push(...result.notices)
  if (options.run.artifact === 'always') {
    for (const kept of [result.artifact, result.stderrArtifact]) {
      if (kept) lines.push(`Output kept: ${kept.uri} (${kept.path})`)
    }
  }
  for (const line of lines) await stderr.write(`nacre: ${line}\n`)
}
