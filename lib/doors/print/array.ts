import type { RequestInput } from '../../protocol/request/request.ts'
import { nowMs } from '../../system/clock.ts'
import { usualSize } from '../../protocol/limits.ts'
import type { Run } from '../../executor/executor.ts'
import { describeTasks, formatDuration } from '../../render/messages.ts'
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

/** A table on a terminal that tells how an array stands, below what its tasks write. */
export interface Progress {
  /** Draws it from now on, as the run stands; gives what ends that. */
  watch(run: Pick<Run, 'look'>): () => void
  /** Output of a task comes: the table gives way to it. */
  giveWay(bytes: Uint8Array): Promise<void>
  hear(): Promise<void>
  /** Takes the table away, before something else is written. */
  clear(): Promise<void>
}

const drawEveryMs = 500
/** Most lines of the table. */
const mostLines = 8

/** Null where nobody watches. */
export function createProgress(stderr: Writer): Progress | null {
  if (!stderr.isTerminal) return null
  const startedAtMs = nowMs()
  let look: (() => TaskSummary | null) | null = null
  let shown: string[] = []
  /** What was written last ends without a newline, where the table may not stand. */
  let isInLine = false

  async function draw(): Promise<void> {
    const tasks = look?.()
    if (!tasks) return
    const { columns, rows } = stderr.size() ?? usualSize
    const head = drawBar(tasks, { columns, tookMs: nowMs() - startedAtMs })
    // A longer line would go on in the next one, and could not be taken away.
    const lines = [head, ...describeTasks({ tasks, status: 'running' }).slice(1)]
      .slice(0, Math.max(1, Math.min(mostLines, rows - 2)))
      .map((line) => line.slice(0, columns - 1))
    const before = isInLine && shown.length === 0 ? '\n' : ''
    const away = takeAway()
    shown = lines
    if (before !== '') isInLine = false
    await stderr.write(`${before}${away}${lines.join('\n')}`)
  }

  /** The rows of a window that has become narrower are more than the lines. */
  function takeAway(): string {
    if (shown.length === 0) return ''
    const { columns } = stderr.size() ?? usualSize
    const rows = shown.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0)
    shown = []
    return `\r${rows > 1 ? `\u001b[${rows - 1}A` : ''}\u001b[J`
  }

  async function clear(): Promise<void> {
    const away = takeAway()
    if (away !== '') await stderr.write(away)
  }

  return {
    watch(run) {
      look = () => run.look().tasks ?? null
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
    hear: draw,
    clear,
  }
}

function drawBar(
  { total, succeeded, failed }: TaskSummary,
  { columns, tookMs }: { columns: number; tookMs: number },
): string {
  const ended = succeeded + failed
  const width = Math.max(10, Math.min(40, columns - 60))
  const done = total === 0 ? width : Math.round((ended / total) * width)
  const bar = `${'#'.repeat(done)}${'.'.repeat(width - done)}`
  const failures = failed === 0 ? '' : `, ${failed} failed`
  return `[${bar}] ${ended} of ${total}, ${formatDuration(tookMs)}${failures}`
}
