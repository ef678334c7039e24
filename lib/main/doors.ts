import { resolve } from 'node:path'
import { exitStatusOf, failureStatus, signalStatus } from '../cli/exit-status.ts'
import type { Invocation } from '../cli/invocation.ts'
import { type Configuration, logicalDirectory, stateDirectory } from '../config/configuration.ts'
import { print } from '../doors/print/print.ts'
import type { Streams } from '../doors/streams.ts'
import { createExecutor, type Executor, type ExecutorOptions } from '../executor/executor.ts'
import { messageOf, MisuseError } from '../protocol/errors.ts'
import { interruption, shutdown } from '../protocol/ports.ts'
import { version } from '../protocol/wire.ts'
import { findWorkspace } from '../system/look.ts'
import { listIgnored } from '../system/process/own-process.ts'
import { agentSettings, executorOptions } from './settings.ts'

/** Answers prompts, or runs a command that nacre has to stay for. */
export function openPrint(
  { print: asked }: Invocation,
  configuration: Configuration,
  options: ExecutorOptions,
  streams: Streams,
): Promise<number> {
  return withExecutor(options, streams, (executor, signal) =>
    print(asked, {
      executor,
      streams,
      signal,
      exitStatusOf,
      agentSettings: () => agentSettings(configuration, { ...asked, prompt: asked.model }),
    }),
  )
}

/** The REPL. */
export async function converse(
  { artifactDir, print: asked }: Invocation,
  configuration: Configuration,
  streams: Streams,
): Promise<number> {
  if (streams.input !== 'terminal' || !streams.stdout.isTerminal) {
    throw new MisuseError(
      'no_terminal',
      "The REPL needs a terminal; use --print: nacre -p '!<command>', or nacre -s for commands on standard input",
    )
  }
  const options = executorOptions(configuration, { artifactDir, toTerminal: false, run: asked.run })
  const { repl } = await import('../repl/repl.ts')
  const { sandbox: mode = 'off' } = options.defaults ?? {}
  const sandbox = mode === 'auto' ? 'workspace' : mode
  const settings = agentSettings(configuration, { ...asked, prompt: asked.model })
  // A shell in a sandbox may go anywhere, and what it may write does not follow it.
  if (sandbox !== 'off') settings.workspace ??= findWorkspace(settings.cwd)
  return withExecutor(options, streams, (executor, signal, onCrash) =>
    repl({
      executor,
      streams,
      signal,
      environment: process.env,
      cwd: resolve(logicalDirectory(process.env), asked.run.cwd ?? '.'),
      stateDir: stateDirectory(process.env),
      version,
      agentSettings: settings,
      sandbox,
      onCrash,
    }),
  )
}

/** JSON-RPC on standard input and output. */
export async function serve(
  { artifactDir, print: asked }: Invocation,
  configuration: Configuration,
  streams: Streams,
  firstDialect: 'pi' | 'json-rpc',
): Promise<number> {
  let toolNames: readonly string[] = []
  const options = executorOptions(configuration, {
    artifactDir,
    toTerminal: false,
    run: asked.run,
    rules: asked.model.allow,
    toolNames: () => toolNames,
  })
  const { serveRpc } = await import('../doors/rpc/rpc.ts')
  const status = await withExecutor(options, streams, (executor, signal) =>
    serveRpc({
      executor,
      streams,
      signal,
      cwd: logicalDirectory(process.env),
      learnToolNames(names) {
        toolNames = names
      },
      firstDialect,
      agentSettings: () => agentSettings(configuration, { ...asked, prompt: asked.model }),
    }),
  )
  // Answers that a silent client never reads would keep this process alive.
  process.exit(status)
}

/** After a fault of nacre's own its runs have so long to end, which is as long as the graces of a stop last. */
const crashGraceMs = 6000

/** Whatever ends nacre ends its runs; only KILL cannot be heard, and what the caller has it ignore. */
const endingSignals = [
  ...(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const),
  ...(['SIGALRM', 'SIGUSR1', 'SIGUSR2', 'SIGXCPU'] as const),
]

/**
 * Gives the exit status of `use`, or that of the signal that ended nacre; the executor is closed
 * either way. After SIGINT the process itself ends by it. `onCrash` takes what is to be done first
 * after a fault of nacre's own.
 */
export async function withExecutor(
  options: ExecutorOptions,
  streams: Streams,
  use: (
    executor: Executor,
    signal: AbortSignal,
    onCrash: (restore: () => void) => void,
  ) => Promise<number>,
): Promise<number> {
  const executor = createExecutor(options)
  const ending = new AbortController()
  let endedBy: NodeJS.Signals | null = null
  const end = (signal: NodeJS.Signals) => {
    endedBy ??= signal
    ending.abort(signal === interruption ? interruption : shutdown)
  }
  let restore = () => {}
  const crash = (error: unknown) => {
    restore()
    process.exitCode = failureStatus
    void streams.stderr.write(`nacre: internal error: ${messageOf(error)}\n`)
    // The part that has failed may be the one that the runs wait for, so the wait is bounded.
    setTimeout(() => process.exit(failureStatus), crashGraceMs)
    void executor.close().then(() => process.exit(failureStatus))
  }
  const ignored = listIgnored()
  // Deno, once it listens for one signal, ends by others that it was to ignore.
  const listeners = endingSignals.map(
    (signal) => [signal, ignored.includes(signal) ? () => undefined : end] as const,
  )
  for (const [signal, listener] of listeners) process.on(signal, listener)
  process.on('uncaughtException', crash)
  try {
    const setRestore = (wanted: () => void) => {
      restore = wanted
    }
    const status = await use(executor, ending.signal, setRestore)
    return endedBy === null ? status : signalStatus(endedBy)
  } finally {
    await executor.close({ interrupt: endedBy === interruption })
    process.off('uncaughtException', crash)
    for (const [signal, listener] of listeners) process.off(signal, listener)
    if (endedBy === 'SIGINT') process.once('exit', endByInterrupt)
  }
}

/** So that a loop of a shell around nacre stops too (the shell asks how its child has ended). */
function endByInterrupt(): void {
  process.kill(process.pid, 'SIGINT')
}
