import type { RequestInput } from '../../protocol/request/request.ts'
import type { TaskCounts } from '../../protocol/array.ts'
import { usualSize } from '../../protocol/limits.ts'
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

/** A line on a terminal that says how many tasks of an array have ended, below what these write. */
export interface Progress {
  /** A task has ended. */
  draw(counts: TaskCounts): Promise<void>
  /** Output of a task comes: the line gives way to it. */
  giveWay(bytes: Uint8Array): Promise<void>
  /** Takes the line away, before something else is written. */
  clear(): Promise<void>
}

/** Null if nobody watches. */
export function createProgress(stderr: Writer): Progress | null {
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
