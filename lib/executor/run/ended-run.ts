import { copyLast, type KeptTexts, readKept } from '../../output/part.ts'
import { MisuseError } from '../../protocol/errors.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { Result } from '../../protocol/result/result.ts'
import { describeRun, type LiveRun, markHandled, readLines, type RunCall } from './run.ts'

/** How much of each text of an ended job stays in memory, where all of it is on disk. */
const shrunkBytes = 64 * 1024

/** A run that has ended before it began: denied, refused, or not started. */
export function createEndedRun({
  request,
  result,
  call: { stream, wait },
}: {
  request: Request
  result: Result
  call: Pick<RunCall, 'stream' | 'wait'>
}): LiveRun {
  const startedAt = new Date().toISOString()
  return holdEnd({
    request,
    result,
    pid: null,
    startedAt,
    endedAt: startedAt,
    isJob: false,
    texts: nothing,
    events: stream,
    wait,
  })
}

/**
 * An ended run without what it took to run it: its processes' pipes, what cleaned its text, the input
 * that its request carried, and all but the end of its text.
 */
export function shrinkRun(run: LiveRun, result: Result): LiveRun {
  const { request, pid, startedAt, isJob, events, result: waited } = run
  const { endedAt } = run.describe()
  return holdEnd({
    request: { ...request, stdin: { kind: 'none' } },
    result,
    pid,
    startedAt,
    endedAt: endedAt ?? startedAt,
    isJob,
    texts: copyLast(run.kept(), shrunkBytes),
    events,
    wait: () => waited,
  })
}

const nothing: KeptTexts = { output: { text: Buffer.alloc(0), start: 0 } }

interface End {
  request: Request
  result: Result
  pid: number | null
  startedAt: string
  endedAt: string
  isJob: boolean
  texts: KeptTexts
  events: LiveRun['events']
  wait: RunCall['wait']
}

function holdEnd(end: End): LiveRun {
  const { request, result, pid, startedAt, isJob, texts, events } = end
  const { id } = request
  const ended = Promise.resolve(result)
  const refuse = () => new MisuseError('no_input', `The run \`${id}\` has ended`, 'job_id')
  const read: LiveRun['read'] = (reading = {}) => ({
    ...readKept(texts, reading),
    status: result.status,
  })
  const run: LiveRun = {
    id,
    request,
    pid,
    result: ended,
    ended,
    left: Promise.resolve(),
    startedAt,
    describe: () => describeRun({ id, pid, request, startedAt }, result, end.endedAt),
    isJob,
    declared: Promise.resolve(),
    events,
    lines: () => readLines({ events, read }),
    look: () => result,
    read,
    place: null,
    kept: () => texts,
    write: () => Promise.reject(refuse()),
    endInput() {
      throw refuse()
    },
    resize: () => undefined,
    group: null,
    stop: () => ended,
    detach: () => result,
    notice: (text) => void result.notices.push(text),
    hide: (text) => void result.notices.push(text),
    isHidden: false,
    touch: () => undefined,
    quietMs: () => 0,
    async [Symbol.asyncDispose]() {},
  }
  return Object.assign(run, { result: markHandled(end.wait(run)) })
}
