import { dirname } from 'node:path'
import { exitStatusOf, failureStatus, signalStatus } from './cli/exit-status.ts'
import { flags } from './cli/flags.ts'
import { describeUsage } from './cli/help.ts'
import { parseArgv } from './cli/parse-argv.ts'
import { chooseMode, type Invocation } from './cli/invocation.ts'
import { version } from './cli/version.ts'
import { logicalDirectory, stateDirectory, userConfigFile } from './config/paths.ts'
import type { Executor } from './executor/executor.ts'
import { openStreams, type Streams } from './modes/streams.ts'
import { messageOf, MisuseError } from './protocol/errors.ts'

/** Takes the words after the program's name; gives the exit status. */
export async function main(argv: readonly string[]): Promise<number> {
  const streams = openStreams(process)
  try {
    return await dispatch(chooseMode(parseArgv(argv, flags)), streams)
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    await streams.stderr.write(`nacre: ${error.message}\n`)
    return failureStatus
  }
}

async function dispatch(invocation: Invocation, streams: Streams): Promise<number> {
  switch (invocation.mode) {
    case 'help':
      await streams.stdout.write(describeUsage(version))
      return 0
    case 'version':
      await streams.stdout.write(`${version}\n`)
      return 0
    case 'print': {
      const { print } = await import('./modes/print/print.ts')
      return withExecutor(invocation, streams, (executor, signal) =>
        print(invocation.print, { executor, streams, signal, exitStatusOf }),
      )
    }
    case 'rpc':
      throw new MisuseError('not_available', 'RPC is not part of this version yet; use --print')
    case 'repl':
      throw new MisuseError(
        'no_terminal',
        "The REPL needs a terminal; use --print: nacre -p '!<command>'",
      )
  }
}

/** Whatever ends nacre ends its runs; only KILL cannot be heard. */
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGALRM', 'SIGUSR2'] as const

async function withExecutor(
  invocation: Invocation,
  streams: Streams,
  use: (executor: Executor, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const { createExecutor } = await import('./executor/executor.ts')
  const executor = createExecutor({
    cwd: logicalDirectory(process.env),
    environment: process.env,
    stateDir: stateDirectory(process.env),
    sandbox: { hidden: [dirname(userConfigFile(process.env))] },
    ...(invocation.artifactDir === null ? {} : { artifactDir: invocation.artifactDir }),
    toTerminal: streams.stdout.isTerminal && invocation.passesThrough,
  })
  const ending = new AbortController()
  let endedBy: NodeJS.Signals | null = null
  const end = (signal: NodeJS.Signals) => {
    endedBy ??= signal
    ending.abort()
  }
  const crash = (error: unknown) => {
    process.exitCode = failureStatus
    void streams.stderr.write(`nacre: internal error: ${messageOf(error)}\n`)
    void executor.close().then(() => process.exit(failureStatus))
  }
  for (const signal of endingSignals) process.on(signal, end)
  process.on('uncaughtException', crash)
  try {
    const status = await use(executor, ending.signal)
    return endedBy === null ? status : signalStatus(endedBy)
  } finally {
    await executor.close()
    process.off('uncaughtException', crash)
    for (const signal of endingSignals) process.off(signal, end)
  }
}
