import type { Result } from '../../protocol/result/result.ts'
import type { WireCall } from '../../wire/method.ts'
import { notifyOfRun } from '../../wire/run-events.ts'
import type { LiveRun } from '../run.ts'

/** The side of a connection that is told what happens to a job. */
export type Follower = Pick<WireCall, 'id' | 'notify'>

/** Tells what a run of this process writes from now on, and its end. */
export async function followRun(
  run: LiveRun,
  follower: Follower,
  signal: AbortSignal,
): Promise<Result> {
  if (signal.aborted) return run.look()
  const tell = notifyOfRun(follower, true)
  const events = run.events[Symbol.asyncIterator]()
  const leave = () => void events.return?.()
  signal.addEventListener('abort', leave, { once: true })
  let final: Result | null = null
  for await (const event of { [Symbol.asyncIterator]: () => events }) {
    // The run itself knows of its end only when everybody has heard of it.
    if (event.type === 'exited') final = event.result
    if (event.type !== 'started' && (await tell(event)) === 'closed') break
  }
  signal.removeEventListener('abort', leave)
  return final ?? run.look()
}
