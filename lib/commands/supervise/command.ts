import { rmSync, statSync } from 'node:fs'
import type { Executor, Run } from '../../executor/executor.ts'
import { MisuseError } from '../../protocol/errors.ts'
import type { RunListener } from '../../protocol/result/event.ts'
import { limits } from '../../protocol/limits.ts'
import * as shape from '../../protocol/shape/shape.ts'
import type { Command, CommandContext } from '../command.ts'
import type { Writer } from '../../doors/streams.ts'
import { logOf, takeOrder } from './order.ts'
import { encodeReport, type Report } from './relay.ts'

/**
 * The process that holds a run of print whose caller may leave before its end. It takes the request
 * the whole way through an executor like any front door, tells the caller on its stdout what happens
 * until the caller has its answer, and stays until the run has ended.
 */
export const command: Command = {
  name: 'supervise',
  usage: 'nacre supervise <request file>',
  description: 'Hold a run that outlives its caller (nacre starts this by itself)',
  flags: [
    {
      name: 'artifact-dir',
      shape: shape.text('', { hint: 'dir' }),
      description: 'Keep artifacts in this folder',
    },
  ],
  examples: ["nacre -c 'npm run dev' --background"],
  hidden: true,
  takesRunOptions: true,
  leavesRuns: true,
  run: (context) => context.useExecutor((executor, signal) => supervise(executor, signal, context)),
}

async function supervise(
  executor: Executor,
  signal: AbortSignal,
  { positionals, streams }: CommandContext,
): Promise<number> {
  const [path] = positionals
  if (path === undefined) throw new MisuseError('wrong_usage', 'Name the file with the request')
  const caller = createCaller(streams.stdout)
  await streams.stdout.write(encodeReport({ ready: true }))
  try {
    const run = await executor.start(takeOrder(path), { signal, onEvent: caller.onEvent })
    const result = await run.result
    await caller.answer({ result })
    if (result.status === 'running') await holdToEnd(run)
    else if (caller.isGone()) run.detach()
    return 0
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    const { code, message, field } = error
    await caller.answer({ misuse: { code, message, field } })
    return 0
  } finally {
    removeEmptyLog(logOf(path))
  }
}

/** Whoever started this process, until it has its answer or has gone. */
function createCaller(stdout: Writer) {
  let answered = false
  const onEvent: RunListener = async (event) => {
    if (answered) return
    // Where the caller has gone the run goes on: nothing is told to it.
    await stdout.write(encodeReport({ event }))
  }
  return {
    onEvent,
    async answer(report: Report): Promise<void> {
      answered = true
      await stdout.write(encodeReport(report))
    },
    isGone: () => stdout.closed,
  }
}

/** What goes on without anybody ends after a day. */
async function holdToEnd(run: Run): Promise<void> {
  const timer = setTimeout(() => void run.stop('timeout'), limits.supervisedSeconds * 1000)
  await run.ended
  clearTimeout(timer)
}

function removeEmptyLog(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.size === 0) rmSync(path)
}
