import type { ArtifactStore, Executor } from '../executor/executor.ts'
import type { Act } from '../executor/reach.ts'
import { limits } from '../protocol/limits.ts'
import type { Result } from '../protocol/result/result.ts'
import { startOf } from '../protocol/words.ts'

/** A stream shows so many bytes in a message, from both ends. */
const streamBytes = 16 * 1024
/** All results of a message share this room; older ones beyond it come without their text. */
const queueBytes = 128 * 1024
/** A queue keeps so many results; older ones are dropped. */
const queueResults = 64

/** Commands of a person that wait for the next message to the model, with what it is told of each. */
export type InjectionQueue = ReturnType<typeof createInjectionQueue>

export interface Injection {
  readonly text: string
  readonly commands: readonly Told[]
}

/** One command as the model reads it: with its text, and without. Or what is shared. */
interface Told {
  readonly whole: string
  readonly bare: string
  /** The ids of its run and of what that has left, or what is shared. */
  readonly names: readonly string[]
  /** Those of them that are shared for writing. */
  readonly writes: readonly string[]
}

/** `artifacts` keeps what an excerpt leaves out; null: nothing is kept. */
export function createInjectionQueue({ artifacts, jobs }: Pick<Executor, 'artifacts' | 'jobs'>) {
  let waiting: Told[] = []
  return {
    /** Queues a run once it has ended, also one that was let go; settles then. */
    async add(ended: Result | Promise<Result>): Promise<void> {
      const told = await renderInjection(await ended, artifacts)
      waiting = [...waiting, told].slice(-queueResults)
    },
    /**
     * Hands an artifact, or a run with its output, over with the next message. Gives the ids; rejects with
     * `MisuseError` if it is not there.
     */
    async share(id: string, act: Act): Promise<readonly string[]> {
      const isArtifact = artifacts !== null && /^(?:artifact:\/\/)?art_/.test(id)
      const names = isArtifact ? [(await artifacts.find(id)).id] : namesOf(await jobs.show(id))
      const [acts, writes] = act === 'write' ? ['read, write to and stop', names] : ['read', []]
      const text = `[The user lets you ${acts} ${names.join(', ')}]\n`
      waiting = [...waiting, { whole: text, bare: text, names, writes }].slice(-queueResults)
      return names
    },
    /** What goes before the next message, oldest first; empty if nothing waits. The queue stays. */
    peek(): Injection {
      let room = queueBytes
      const blocks = waiting.toReversed().map(({ whole, bare }) => {
        const block = whole.length <= room ? whole : bare
        room -= block.length
        return block
      })
      return { text: blocks.reverse().join(''), commands: waiting }
    },
    /** Takes off what has reached the model. */
    take({ commands }: Injection): void {
      waiting = waiting.filter((told) => !commands.includes(told))
    },
  }
}

/** The ids of a run and of what it has left. */
export function namesOf({ id, artifact, stderrArtifact }: Result): string[] {
  return [id, artifact?.id, stderrArtifact?.id].filter((name) => name !== undefined)
}

/** The ids of runs and artifacts in a person's own words. */
export function namesIn(typed: string): string[] {
  return typed.match(/\b(?:run|art)_[a-z2-7]{20}\b/g) ?? []
}

type StreamName = 'stdout' | 'stderr'
/** The fields of a stream: its text or both ends of it, and where the whole is. */
type Shown = Partial<
  Record<StreamName | `${StreamName}_excerpt` | `${StreamName}_cache_id`, string>
>

/** One result as the model reads it. */
async function renderInjection(result: Result, artifacts: ArtifactStore | null): Promise<Told> {
  const { id, command, truncation, artifact, stderrTruncation = null, stderrArtifact } = result
  // A terminal has one stream only.
  const { stdout = result.output ?? '', stderr = '' } = result
  const out = await show('stdout', stdout, truncation, artifact)
  const err = await show('stderr', stderr, stderrTruncation, stderrArtifact ?? null)
  const shown = { ...out, ...err }
  const render = (streams: Shown) => {
    const isCut = { stdout: 'stdout_excerpt' in streams, stderr: 'stderr_excerpt' in streams }
    return writeBlock({
      id,
      command_preview: startOf(command, limits.commandPreviewChars),
      status: result.status,
      reason: result.reason,
      exit_code: result.exitCode,
      signal: result.signal,
      duration_ms: result.durationMs,
      ...streams,
      truncated: { ...isCut, combined: isCut.stdout || isCut.stderr },
    })
  }
  const kept = [shown.stdout_cache_id, shown.stderr_cache_id].filter((it) => it !== undefined)
  const bare = { ...shown, ...dropText('stdout', out), ...dropText('stderr', err) }
  const names = [...namesOf(result), ...kept]
  return { whole: render(shown), bare: render(bare), names, writes: [] }

  async function show(
    stream: StreamName,
    text: string,
    cut: Result['truncation'],
    ref: Result['artifact'],
  ): Promise<Shown> {
    let excerpt = cutEnds(text)
    if (cut === null && excerpt === text) return { [stream]: text }
    let kept = ref
    if (cut === null && ref === null && artifacts !== null) {
      const writer = artifacts.create({ runId: id, command, stream })
      await writer.write(Buffer.from(text))
      kept = (await writer.finish()).artifact
    } else if (cut?.direction === 'tail' && ref !== null) {
      // The text is the end of what was written. Its beginning may have been removed by others meanwhile.
      const missingLines = (cut.shownRanges[0]?.[0] ?? 1) - 1
      const head = Math.max(1, Math.min(limits.headTailLines, missingLines))
      const first = await artifacts?.read(ref.id, { head }).catch(() => null)
      if (first) excerpt = joinEnds(first.text, text)
    }
    return { [`${stream}_excerpt`]: excerpt, ...(kept && { [`${stream}_cache_id`]: kept.id }) }
  }
}

/** A text for which a message has no room. */
function dropText(stream: StreamName, shown: Shown): Shown {
  if (shown[stream] === '') return {}
  return { [stream]: undefined, [`${stream}_excerpt`]: '' }
}

/** `<` and `>` are escaped, so that no output can end the block or begin another. */
function writeBlock(fields: object): string {
  const text = JSON.stringify(fields).replaceAll('<', '\\u003c').replaceAll('>', '\\u003e')
  return `<shell_result>\n${text}\n</shell_result>\n`
}

/** The first and the last lines, as many as there is room for. */
function cutEnds(text: string): string {
  const isShort = text.length <= streamBytes
  if (isShort && text.split('\n').length <= 2 * limits.headTailLines + 1) return text
  return joinEnds(text, text)
}

/** The first lines of one text and the last ones of another. Neither may be split as a whole: it may be long. */
function joinEnds(first: string, last: string): string {
  const { headTailLines } = limits
  const head = first.slice(0, streamBytes).split('\n').slice(0, headTailLines).join('\n')
  const tail = last
    .slice(-streamBytes)
    .split('\n')
    .slice(-headTailLines - 1)
    .join('\n')
  return `${cutTo(head, 'start')}\n… [lines left out] …\n${cutTo(tail, 'end')}`
}

function cutTo(text: string, side: 'start' | 'end'): string {
  const room = streamBytes / 2
  if (text.length <= room) return text
  if (side === 'start') return startOf(text, room)
  // The second half of a character without its first one is no text.
  return text.slice(-room).replace(/^[\uDC00-\uDFFF]/, '')
}
