import type { RequestInput } from '../../protocol/request/request.ts'
import { nowMs } from '../../system/clock.ts'
import { usualSize } from '../../protocol/limits.ts'
import type { Run } from '../../executor/executor.ts'
import { formatDuration } from '../../render/messages.ts'
import type { TaskSummary } from '../../protocol/result/result.ts'
import type { Streams, Writer } from '../streams.ts'
import { readLines } from './stdin.ts'

/** What an array makes of the input of print: its tasks read nothing, and `-` reads their commands. */
export async function readArray(
  { array }: Partial<RequestInput>,
  streams: Streams,
): Promise<Partial<RequestInput>> {
  if (array === undefined) return {}
  if (array !== '-') return { stdin: { kind: 'none' } }
  const commands: string[] = []
  for await (const line of readLines(streams.stdin)) if (line.trim() !== '') commands.push(line)
  return { commands, array: String(commands.length), stdin: { kind: 'none' } }
}

/** A line on a terminal that says how an array stands, below what its tasks write. */
export interface Progress {
  /** Draws it from now on, as the run stands; gives what ends that. */
  watch(run: Pick<Run, 'look'>): () => void
  /** Output of a task comes: the line gives way to it. */
  giveWay(bytes: Uint8Array): Promise<void>
  draw(): Promise<void>
  /** Takes the line away, before something else is written. */
  clear(): Promise<void>
}

const drawEveryMs = 500

/** Null if nobody watches. */
export function createProgress(stderr: Writer): Progress | null {
  if (!stderr.isTerminal) return null
  const startedAtMs = nowMs()
  let look: Run['look'] | null = null
  let isShown = false
  /** What was written last ends without a newline, where the line may not stand. */
  let isInLine = false

  async function draw(): Promise<void> {
    const tasks = look?.().tasks
    if (!tasks) return
    // A longer line would go on in the next one, and could not be taken away.
    const { columns } = stderr.size() ?? usualSize
    const text = drawBar(tasks, columns, nowMs() - startedAtMs).slice(0, columns - 1)
    const before = isShown ? '\r\u001b[K' : isInLine ? '\n' : ''
    isShown = true
    isInLine = false
    await stderr.write(before + text)
  }

  async function clear(): Promise<void> {
    if (!isShown) return
    isShown = false
    await stderr.write('\r\u001b[K')
  }

  return {
    watch(run) {
      look = () => run.look()
      const timer = setInterval(() => void draw(), drawEveryMs)
      return () => {
        clearInterval(timer)
        look = null
      }
    },
    async giveWay(bytes) {
      await clear()
      if (bytes.length > 0) isInLine = bytes.at(-1) !== 0x0a
    },
    draw,
    clear,
  }
}

function drawBar(
  { total, succeeded, failed }: TaskSummary,
  columns: number,
  tookMs: number,
): string {
  const ended = succeeded + failed
  const width = Math.max(10, Math.min(40, columns - 60))
  const done = total === 0 ? width : Math.round((ended / total) * width)
  const bar = `${'#'.repeat(done)}${'.'.repeat(width - done)}`
  const failures = failed === 0 ? '' : `, ${failed} failed`
  return `[${bar}] ${ended} of ${total}, ${formatDuration(tookMs)}${failures}`
}
