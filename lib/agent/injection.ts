import { limits } from '../protocol/limits.ts'
import type { Result } from '../protocol/result/result.ts'
import { startOf } from '../protocol/words.ts'

/** A stream shows so many bytes in a message, from both ends. */
const streamBytes = 16 * 1024
/** All results of a message share this room; older ones beyond it come without their text. */
const queueBytes = 128 * 1024
/** A queue keeps so many results; older ones are dropped. */
const queueResults = 64

/** Results of a person's commands that wait for the next message to the model. */
export interface InjectionQueue {
  add(result: Result): void
  /** What goes before the next message, oldest first; empty where nothing waits. The queue stays. */
  peek(): { text: string; count: number; names: string[] }
  /** Takes off the oldest ones, which have reached the model, or all. */
  take(count?: number): Result[]
  readonly size: number
}

export function createInjectionQueue(): InjectionQueue {
  const waiting: Result[] = []
  return {
    add(result) {
      waiting.push(result)
      if (waiting.length > queueResults) waiting.shift()
    },
    peek() {
      const blocks: string[] = []
      let room = queueBytes
      for (const result of [...waiting].reverse()) {
        const whole = renderInjection(result, true)
        const isTold = whole.length <= room
        const block = isTold ? whole : renderInjection(result, false)
        room -= block.length
        blocks.unshift(block)
      }
      return { text: blocks.join(''), count: waiting.length, names: waiting.flatMap(namesOf) }
    },
    take: (count = waiting.length) => waiting.splice(0, count),
    get size() {
      return waiting.length
    },
  }
}

/** The ids of a run and of what it has left. */
export function namesOf({ id, artifact, stderrArtifact }: Result): string[] {
  return [id, artifact?.id, stderrArtifact?.id].filter((name) => name !== undefined)
}

/** The ids of runs and artifacts in a person's own words; what came on standard input says nothing. */
export function namesIn(text: string): string[] {
  const own = text.replaceAll(/<stdin>[^]*?<\/stdin>/g, '')
  return own.match(/\b(?:run|art)_[a-z2-7]{20}\b/g) ?? []
}

/**
 * One result as the model reads it. `<` and `>` are escaped, so that no output can end the block
 * or begin another.
 */
function renderInjection(result: Result, withText: boolean): string {
  const { truncation, artifact, stderrTruncation = null, stderrArtifact = null } = result
  // A terminal has one stream only.
  const stdout = describeStream('stdout', result.stdout ?? result.output ?? '', {
    isCut: truncation !== null,
    cacheId: artifact?.id,
    withText,
  })
  const stderr = describeStream('stderr', result.stderr ?? '', {
    isCut: stderrTruncation !== null,
    cacheId: stderrArtifact?.id,
    withText,
  })
  const json = {
    id: result.id,
    command_preview: startOf(result.command, limits.commandPreviewChars),
    exit_code: result.exitCode,
    signal: result.signal,
    duration_ms: result.durationMs,
    ...stdout.fields,
    ...stderr.fields,
    truncated: {
      stdout: stdout.isCut,
      stderr: stderr.isCut,
      combined: stdout.isCut || stderr.isCut,
    },
  }
  const text = JSON.stringify(json).replaceAll('<', '\\u003c').replaceAll('>', '\\u003e')
  return `<shell_result>\n${text}\n</shell_result>\n`
}

interface StreamState {
  isCut: boolean
  cacheId: string | undefined
  withText: boolean
}

function describeStream(
  name: 'stdout' | 'stderr',
  text: string,
  { isCut, cacheId, withText }: StreamState,
): { fields: Record<string, string>; isCut: boolean } {
  const excerpt = withText ? cutEnds(text) : ''
  if (!isCut && excerpt === text) return { fields: { [name]: text }, isCut: false }
  const kept = cacheId === undefined ? {} : { [`${name}_cache_id`]: cacheId }
  return { fields: { [`${name}_excerpt`]: excerpt, ...kept }, isCut: true }
}

/** The first and the last lines, as many as there is room for. */
function cutEnds(text: string): string {
  const { headTailLines } = limits
  const lines = text.split('\n')
  if (lines.length <= 2 * headTailLines + 1 && text.length <= streamBytes) return text
  const head = cutTo(lines.slice(0, headTailLines).join('\n'), 'start')
  const rest = lines.slice(headTailLines)
  const tail = cutTo(rest.slice(-headTailLines - 1).join('\n'), 'end')
  return `${head}\n… [lines left out] …\n${tail}`
}

function cutTo(text: string, side: 'start' | 'end'): string {
  const room = streamBytes / 2
  if (text.length <= room) return text
  if (side === 'start') return startOf(text, room)
  // The second half of a character without its first one is no text.
  return text.slice(-room).replace(/^[\uDC00-\uDFFF]/, '')
}
