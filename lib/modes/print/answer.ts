import type { RunListener } from '../../protocol/event.ts'
import type { RequestInput } from '../../protocol/request.ts'
import type { Result } from '../../protocol/result.ts'
import { createEventRenderer, renderJson, renderResultLine } from '../../render/json.ts'
import { describeTrouble } from '../../render/messages.ts'
import type { Streams } from '../streams.ts'
import type { PrintOptions } from './options.ts'

/** How one result reaches the streams of print. */
export interface Answer {
  /** What the format means for the request, where the caller did not say. */
  fields: Partial<RequestInput>
  /** Whether the result is to carry the text. */
  text: boolean
  onEvent: RunListener
  finish(result: Result): Promise<void>
}

export function createAnswer(options: PrintOptions, streams: Streams): Answer {
  switch (options.outputFormat) {
    case 'json':
      return {
        fields: {},
        text: true,
        onEvent: () => undefined,
        finish: async (result) => void (await streams.stdout.write(renderJson(result))),
      }
    case 'stream-json':
      return answerWithEvents(streams)
    case 'text':
      return wantsBoundedText(options.run)
        ? answerWithText(options, streams)
        : passThrough(options, streams)
  }
}

function answerWithEvents({ stdout }: Streams): Answer {
  const render = createEventRenderer()
  return {
    fields: {},
    text: true,
    async onEvent(event) {
      const line = render(event)
      return line === '' ? undefined : stdout.write(line)
    },
    async finish(result) {
      // A run that goes on has no last event; its result says how it stands.
      if (result.status === 'running') await stdout.write(renderResultLine(result))
    },
  }
}

/** The bytes of the command, unchanged and live, each stream to its own. */
function passThrough(options: PrintOptions, streams: Streams): Answer {
  return {
    fields: {
      streams: options.run.streams ?? 'separate',
      artifact: options.run.artifact ?? 'never',
    },
    text: false,
    onEvent(event) {
      if (event.type !== 'output') return
      const writer = event.stream === 'stderr' ? streams.stderr : streams.stdout
      return writer.write(event.bytes)
    },
    finish: (result) => tell(result, options, streams),
  }
}

/** Limits were asked for: the text when it is complete, within them. */
function answerWithText(options: PrintOptions, streams: Streams): Answer {
  return {
    fields: { streams: options.run.streams ?? 'separate' },
    text: true,
    onEvent: () => undefined,
    async finish(result) {
      await streams.stdout.write(result.output ?? result.stdout ?? '')
      await streams.stderr.write(result.stderr ?? '')
      await tell(result, options, streams)
    },
  }
}

function wantsBoundedText(run: PrintOptions['run']): boolean {
  const limits = [run.head, run.tail, run.maxLines, run.maxBytes, run.truncate]
  return limits.some((limit) => limit !== undefined)
}

/**
 * What nacre has to say goes to stderr. A command that ended by itself has the last word there, so
 * that both streams hold what its shell would have written; a person at a terminal is told more.
 */
async function tell(result: Result, options: PrintOptions, { stderr }: Streams): Promise<void> {
  if (options.quiet) return
  const lines = describeTrouble(result)
  if (lines.length === 0 && stderr.isTerminal) lines.push(...result.notices)
  if (options.run.artifact === 'always') {
    for (const kept of [result.artifact, result.stderrArtifact]) {
      if (kept) lines.push(`Output kept: ${kept.uri} (${kept.path})`)
    }
  }
  for (const line of lines) await stderr.write(`nacre: ${line}\n`)
}
