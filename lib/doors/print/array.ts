import type { RequestInput } from '../../protocol/request/request.ts'
import { formatDuration } from '../../render/messages.ts'
import type { RunEvent } from '../../protocol/result/event.ts'
import { hasSucceeded, nameEnd } from '../../protocol/result/tasks.ts'
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

/** A line on a terminal that tells how far an array is, below what its tasks write. */
export interface Progress {
  hear(event: RunEvent & { type: 'task' }): Promise<void>
  /** Takes the line away, before something else is written. */
  clear(): Promise<void>
}

/** Null where nobody watches. */
export function createProgress(stderr: Writer): Progress | null {
  if (!stderr.isTerminal) return null
  const startedAtMs = Date.now()
  const failures = new Map<string, number>()
  let isShown = false
  return {
    async hear({ ended, total, result }) {
      const name = nameEnd(result)
      if (!hasSucceeded(result)) failures.set(name, (failures.get(name) ?? 0) + 1)
      const columns = stderr.size()?.columns ?? 80
      const width = Math.max(10, Math.min(40, columns - 60))
      const done = Math.round((ended / total) * width)
      const bar = `${'#'.repeat(done)}${'.'.repeat(width - done)}`
      const time = formatDuration(Date.now() - startedAtMs)
      const ends = [...failures].map(([end, count]) => `, ${end}: ${count}`).join('')
      // A longer line would go on in the next one, and could not be taken away.
      const line = `[${bar}] ${ended} of ${total}, ${time}${ends}`.slice(0, columns - 1)
      isShown = true
      await stderr.write(`\r\u001b[K${line}`)
    },
    async clear() {
      if (!isShown) return
      isShown = false
      await stderr.write('\r\u001b[K')
    },
  }
}
