import { connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Ready, Request } from '../protocol/request/request.ts'
import type { JobOutput, Reading } from '../protocol/result/reading.ts'
import { nowMs, pause } from '../system/clock.ts'

export type Deadlines = ReturnType<typeof createDeadlines>

/**
 * The two clocks of a run: how long it may take, and how long it may be silent. They go from `begun` on,
 * or at once.
 */
export function createDeadlines(
  request: Pick<Request, 'timeoutMs' | 'inactivityMs'>,
  on: { onTimeout(): void; onInactivity(): void },
  begun: Promise<void> | null = null,
) {
  const { timeoutMs, inactivityMs } = request
  let lastOutputAtMs = nowMs()
  let silence: NodeJS.Timeout | undefined
  let deadline: NodeJS.Timeout | undefined
  let over = false

  function begin(): void {
    if (over) return
    lastOutputAtMs = nowMs()
    if (timeoutMs !== null) deadline = setTimeout(() => on.onTimeout(), timeoutMs)
    if (inactivityMs !== null) watchSilence(inactivityMs, inactivityMs)
  }

  /** One timer for all output: when it rings it looks how long the silence has been. */
  function watchSilence(afterMs: number, limitMs: number): void {
    silence = setTimeout(() => {
      const leftMs = limitMs - (nowMs() - lastOutputAtMs)
      if (leftMs > 0) watchSilence(leftMs, limitMs)
      else on.onInactivity()
    }, afterMs)
  }
  if (begun === null) begin()
  else void begun.then(begin)

  return {
    /** Tells that the run has written something. */
    touch(): void {
      lastOutputAtMs = nowMs()
    },
    /** For how long the run has written nothing. */
    quietMs: () => nowMs() - lastOutputAtMs,
    clear(): void {
      over = true
      clearTimeout(deadline)
      clearTimeout(silence)
    },
  }
}

/** Whether the caller may be answered while the run goes on. */
export function mayReturnEarly({ waitMs, ready, onTimeout, timeoutMs }: Request): boolean {
  return waitMs !== null || ready !== null || (onTimeout === 'background' && timeoutMs !== null)
}

/** Whether it goes on when its caller is gone. */
export function mayOutlive(request: Request): boolean {
  return request.array !== null || mayReturnEarly(request)
}

/** What ends a wait before the run has ended. */
export interface WaitLimits {
  timeoutMs: number | null
  /** The run is ready. */
  ready?: Ready | null
  /** Nobody waits any more. */
  signal?: AbortSignal | undefined
}

/** What is asked of a run to know whether it is ready. */
export interface AwaitedRun {
  readonly request: Request
  readonly pid: number | null
  readonly group: string | null
  read(reading: Reading): JobOutput
  /** How long nothing has been written. */
  quietMs(): number
  notice(text: string): void
}

/** Waits for the end or one of the limits, and leaves no timer behind. */
export async function waitUntilOver(
  run: AwaitedRun,
  ended: Promise<unknown>,
  { timeoutMs, ready, signal }: WaitLimits,
): Promise<void> {
  const over = new AbortController()
  const either = signal ? AbortSignal.any([signal, over.signal]) : over.signal
  const waits = [ended]
  if (timeoutMs !== null) waits.push(pause(timeoutMs, either))
  if (ready) waits.push(waitUntilReady(ready, run, either))
  await Promise.race(waits)
  over.abort()
}

const lookEveryMs = 50
/** So long may a pattern hold up everything else, once; a sane one takes a thousandth of it. */
const patternMs = 1000
/** What is kept of each end of an unfinished line, so that its pattern is found in it. */
const lineEndChars = 4096

/** Looks once; true: nobody needs to wait any more. */
type Check = () => boolean | Promise<boolean>

/** Settles when the run is ready, or when `signal` says that nobody waits any more. */
async function waitUntilReady(ready: Ready, run: AwaitedRun, signal: AbortSignal): Promise<void> {
  const isReady = await createCheck(ready, run)
  while (!signal.aborted && !(await isReady())) {
    await pause(lookEveryMs, signal)
  }
}

function createCheck(ready: Ready, run: AwaitedRun): Check | Promise<Check> {
  switch (ready.kind) {
    case 'port':
      return createPortCheck(ready.port, run)
    case 'quiet':
      return () => run.quietMs() >= ready.quietMs
    case 'regex':
      return createLineCheck(new RegExp(ready.source), run)
  }
}

/**
 * Looks at each line once; the last one, still unfinished, again. A pattern that takes too long ends the
 * wait, and a notice says so.
 */
async function createLineCheck(pattern: RegExp, run: AwaitedRun): Promise<Check> {
  const { PatternBudget, PatternTester, SlowPatternError } = await import('../system/pattern.ts')
  const tester = new PatternTester()
  const budget = new PatternBudget(patternMs)
  let cursor = 0
  let unfinished = ''
  return async () => {
    // What was written at once is looked at in pieces, between which other runs go on.
    for (; ; await nextTurn()) {
      const read = run.read({ cursor })
      if (read.cursor === cursor) return false
      cursor = read.cursor
      const lines = (unfinished + read.text).split('\n')
      unfinished = keepEnds(lines.at(-1) ?? '')
      budget.leftMs = patternMs
      try {
        if (tester.test(pattern, lines, budget)) return true
      } catch (error) {
        if (!(error instanceof SlowPatternError)) throw error
        run.notice(
          `Whether it is ready is not known: the pattern of \`ready\` takes more than ${patternMs} ms on its output; write a simpler one`,
        )
        return true
      }
    }
  }
}

/** An endless line would be looked at as a whole again with each piece of it. */
function keepEnds(line: string): string {
  if (line.length <= 2 * lineEndChars) return line
  return `${line.slice(0, lineEndChars)}…${line.slice(-lineEndChars)}`
}

/**
 * Whether a process of the run listens on a port: another server may have it already. On another machine
 * and where there is no `/proc` (macOS), whoever answers on the port counts.
 */
async function createPortCheck(port: number, run: AwaitedRun): Promise<Check> {
  const { host, network, id } = run.request
  if (process.platform !== 'linux' || host !== null) return () => answers(port)
  const { isPortTaken, listensOn } = await import('../system/process/process-table.ts')
  const { createTreeSearch } = await import('../run/stop.ts')
  const { openControlGroup } = await import('../system/process/control-group.ts')
  let search: (() => readonly { pid: number }[]) | null = null
  return () => {
    const group = run.group === null ? null : openControlGroup(run.group)
    if (group && listensOn(group.list(), port)) return true
    // Reading the whole process table is dear, so it is done only where somebody has the port.
    if (run.pid === null || (network === 'on' && !isPortTaken(port))) return false
    search ??= createTreeSearch({ pid: run.pid, mark: id, group })
    return listensOn(
      search().map(({ pid }) => pid),
      port,
    )
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: 'localhost' })
    const answer = (listening: boolean) => {
      socket.destroy()
      resolve(listening)
    }
    socket.once('connect', () => answer(true))
    socket.once('error', () => answer(false))
  })
}
