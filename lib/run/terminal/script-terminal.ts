import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import {
  type Exit,
  type OutputSink,
  type Running,
  StartError,
  type StopReport,
} from '../../protocol/ports.ts'
import type { Request, TerminalSize } from '../../protocol/request/request.ts'
import { type StartedProcess, startProcess } from '../../system/process/spawn.ts'
import type { Launch } from '../launch.ts'
import { quoteWord } from '../../protocol/words.ts'
import { findProgram } from '../../system/look.ts'
import { createRunning } from '../running.ts'
import { describeStartFailure } from '../start-failure.ts'
import { chooseSteps, measureUsage, stopTree } from '../stop.ts'
import { nowMs } from '../../system/clock.ts'
import type { ControlGroups } from '../../system/process/control-group.ts'
import { typeStandardInput } from './terminal-input.ts'

/** A run for which the terminal is made by script(1). */
export interface ScriptRun {
  launch: Launch
  size: TerminalSize
  request: Request
  sink: OutputSink
  groups: ControlGroups | undefined
}

/**
 * Runs a launch on a terminal that script(1) of util-linux makes, where the addon does not load
 * (`missing` says why). Nothing of the output is lost; the size stays what it was at the start, and an
 * end by a signal is told as exit code 128 + n. Rejects with `StartError`.
 */
export async function runInScript(run: ScriptRun, missing: string): Promise<Running> {
  const script = process.platform === 'linux' ? findProgram('script', '/usr/bin:/bin') : null
  if (!script) {
    throw new StartError('pty_unavailable', `No terminal for this run: ${missing}`)
  }
  const { launch, sink } = run
  const startedMs = nowMs()
  const child = (await startProcess({
    file: script,
    args: ['-qec', composeCommand(run), '/dev/null'],
    cwd: launch.cwd,
    // script starts $SHELL; the command puts the run's own value back.
    env: { ...launch.env, SHELL: '/bin/sh' },
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
    files: launch.files ?? [],
    groups: run.groups,
  }).catch((error: unknown) => {
    throw describeStartFailure(error, launch)
  })) as StartedProcess & ChildProcessByStdio<Writable, Readable, null>
  // A program that ends before it has read everything closes its side.
  child.stdin.on('error', () => child.stdin.destroy())
  const { pid, group } = child
  const root = { pid, mark: launch.mark, group, startedMs }
  let stopped: Promise<StopReport> | null = null

  const type = (input: string | Uint8Array) =>
    new Promise<void>((settle) => child.stdin.write(input, () => settle()))
  const stopTyping = typeStandardInput(run.request.stdin, type)
  const code = once(child, 'exit') as Promise<[number | null, string | null]>
  async function copyOutput(): Promise<Exit> {
    for await (const bytes of child.stdout as AsyncIterable<Buffer>) {
      if ((await sink.write('output', bytes)) === 'closed') break
    }
    const [exitCode, signal] = await code
    stopTyping()
    child.stdin.destroy()
    const notice = `The terminal was made by script(1), without resizing: ${missing}`
    const usage = measureUsage(group)
    return { code: exitCode, signal, notices: [notice], ...(usage && { usage }) }
  }

  return createRunning({
    pid: () => pid,
    group: () => group?.path ?? null,
    exited: copyOutput(),
    input: { write: type, end: () => void type('\u0004') },
    // script(1) follows the size of its own terminal, which it does not have: this one keeps its size.
    stop(_reason, how) {
      stopped ??= stopTree(root, chooseSteps(run.request, how))
      return stopped
    },
  })
}

function composeCommand({ launch, size }: ScriptRun): string {
  const shell = launch.env['SHELL']
  const restore = shell === undefined ? 'unset SHELL' : `SHELL=${quoteWord(shell)}`
  const words = [launch.file, ...launch.args].map(quoteWord).join(' ')
  return `stty rows ${size.rows} columns ${size.columns}; ${restore}; exec ${words}`
}
