import { connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Ready } from '../../protocol/request/request.ts'
import { pause } from '../../system/wait.ts'
import type { LiveRun } from './run.ts'

const lookEveryMs = 50
/** So long may a pattern hold up everything else, once; a sane one takes a thousandth of it. */
const patternMs = 1000
/** What is kept of each end of an unfinished line, so that its pattern is found in it. */
const lineEndChars = 4096

/** Looks once; true: nobody needs to wait any more. */
type Check = () => boolean | Promise<boolean>

/** Settles when the run is ready, or when `signal` says that nobody waits any more. */
export async function waitUntilReady(
  ready: Ready,
  run: LiveRun,
  signal: AbortSignal,
): Promise<void> {
  const isReady = await createCheck(ready, run)
  while (!signal.aborted && !(await isReady())) {
    await pause(lookEveryMs, signal)
  }
}

function createCheck(ready: Ready, run: LiveRun): Check | Promise<Check> {
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
async function createLineCheck(pattern: RegExp, run: LiveRun): Promise<Check> {
  const { PatternBudget, PatternTester, SlowPatternError } = await import('../../system/pattern.ts')
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
async function createPortCheck(port: number, run: LiveRun): Promise<Check> {
  const { host, network, id } = run.request
  if (process.platform !== 'linux' || host !== null) return () => answers(port)
  const { isPortTaken, listensOn } = await import('../../system/listeners.ts')
  const { createTreeSearch } = await import('../../run/stop.ts')
  const { openControlGroup } = await import('../../system/process/control-group.ts')
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
