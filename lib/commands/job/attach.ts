import type { Follower } from '../../executor/jobs/port.ts'
import type { Jobs } from '../../executor/jobs/port.ts'
import { messageOf } from '../../protocol/errors.ts'
import type { Result } from '../../protocol/result/result.ts'
import type { Streams } from '../../doors/streams.ts'
import { typeIntoRun } from '../../doors/terminal.ts'

/** Ctrl-], which telnet(1) has for the same. */
const leaveKey = '\u001D'

/** Lines of what it wrote before, where the window does not say how many fit. */
const usualLines = 10

/**
 * Shows what a job writes until it ends, `signal` aborts or a person leaves it by the key. What is typed
 * goes to a job that has a terminal, and so does the size of the window. Gives how it stands then.
 */
export async function attachToJob(
  given: string,
  jobs: Jobs,
  {
    streams,
    signal,
    tell,
  }: { streams: Streams; signal: AbortSignal; tell: (line: string) => void },
): Promise<Result> {
  const { stdout, stderr } = streams
  const leaving = new AbortController()
  const either = AbortSignal.any([signal, leaving.signal])
  let isShown = false
  const follower: Follower = {
    id: null,
    notify(method, params) {
      // What the job wrote before is part of the text that is shown first.
      if (!isShown || method !== 'shell.output') return
      const { stream, data } = params as { stream: string; data: string }
      return (stream === 'stderr' ? stderr : stdout).write(data)
    },
  }
  const { id } = await jobs.show(given)
  const entry = (await jobs.list({ status: 'running' })).find((job) => job.id === id)
  const size = stdout.isTerminal ? stdout.size() : null
  const followed = jobs.follow(id, follower, either)
  followed.catch(() => undefined)
  const before = await jobs.read(id, { tail: size ? size.rows - 1 : usualLines })
  await stdout.write(before.text)
  isShown = true
  const stopTyping = entry?.pty && streams.input === 'terminal' ? type() : () => undefined
  try {
    return await followed
  } finally {
    stopTyping()
  }

  function type(): () => void {
    const resize = (columns: number, rows: number) =>
      void jobs.resize(id, columns, rows).catch((error: unknown) => tell(messageOf(error)))
    if (size) resize(size.columns, size.rows)
    return typeIntoRun(
      {
        resize,
        async write(text) {
          const at = text.indexOf(leaveKey)
          await jobs.write(id, at < 0 ? text : text.slice(0, at))
          if (at >= 0) leaving.abort()
        },
      },
      streams,
    )
  }
}
