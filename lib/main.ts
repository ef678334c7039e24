import { exitStatusOf, failureStatus, signalStatus } from './cli/exit-status.ts'
import { flags, helpFlag } from './cli/flags.ts'
import { describeCommand, describeUsage } from './cli/help.ts'
import { parseArgv } from './cli/parse-argv.ts'
import { chooseMode, type Invocation } from './cli/invocation.ts'
import { programWords } from './cli/program.ts'
import { version } from './cli/version.ts'
import { logicalDirectory, stateDirectory } from './config/paths.ts'
import { createExecutor, type Executor } from './executor/executor.ts'
import type { Command } from './modes/command.ts'
import { commands, listCommands } from './modes/commands.ts'
import { print } from './modes/print/print.ts'
import { openStreams, type Streams } from './modes/streams.ts'
import type {
  runSupervised as RunSupervised,
  Supervision,
} from './modes/supervise/run-supervised.ts'
import { messageOf, MisuseError } from './protocol/errors.ts'

/** Takes the words after the program's name; gives the exit status. */
export async function main(argv: readonly string[]): Promise<number> {
  const streams = openStreams(process)
  try {
    const [name = ''] = argv
    const load = Object.hasOwn(commands, name) ? commands[name] : undefined
    if (load) return await runCommand((await load()).command, argv.slice(1), streams)
    return await dispatch(chooseMode(parseArgv(argv, flags)), streams)
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    await streams.stderr.write(`nacre: ${error.message}\n`)
    return failureStatus
  }
}

async function runCommand(
  command: Command,
  argv: readonly string[],
  streams: Streams,
): Promise<number> {
  const { options, positionals } = parseArgv(argv, [...command.flags, helpFlag])
  if (options['help']) {
    await streams.stdout.write(describeCommand(command))
    return 0
  }
  const artifactDir = (options['artifact-dir'] as string | undefined) ?? null
  return command.run({
    options,
    positionals,
    streams,
    environment: process.env,
    cwd: logicalDirectory(process.env),
    stateDir: stateDirectory(process.env),
    useExecutor: (use) =>
      withExecutor(
        { artifactDir, passesThrough: false, leavesRuns: command.leavesRuns ?? false },
        streams,
        use,
      ),
    exitStatusOf,
  })
}

async function dispatch(invocation: Invocation, streams: Streams): Promise<number> {
  switch (invocation.mode) {
    case 'help':
      await streams.stdout.write(describeUsage(version, await listCommands()))
      return 0
    case 'version':
      await streams.stdout.write(`${version}\n`)
      return 0
    case 'print':
      return withExecutor(invocation, streams, (executor, signal) =>
        print(invocation.print, {
          executor,
          runSupervised: (input, options = {}) =>
            runSupervised(supervision(invocation), input, options),
          streams,
          signal,
          exitStatusOf,
        }),
      )
    case 'rpc':
      throw new MisuseError('not_available', 'RPC is not part of this version yet; use --print')
    case 'repl':
      throw new MisuseError(
        'no_terminal',
        "The REPL needs a terminal; use --print: nacre -p '!<command>'",
      )
  }
}

function supervision({ artifactDir }: Invocation): Supervision {
  return {
    program: programWords(process),
    environment: process.env,
    stateDir: stateDirectory(process.env),
    artifactDir,
  }
}

/** Loaded with the first run that may outlive this process. */
const runSupervised: typeof RunSupervised = async (...args) =>
  (await import('./modes/supervise/run-supervised.ts')).runSupervised(...args)

/** Whatever ends nacre ends its runs; only KILL cannot be heard. */
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGALRM', 'SIGUSR2'] as const

async function withExecutor(
  invocation: Pick<Invocation, 'artifactDir' | 'passesThrough'> & { leavesRuns?: boolean },
  streams: Streams,
  use: (executor: Executor, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const executor = createExecutor({
    cwd: logicalDirectory(process.env),
    environment: process.env,
    stateDir: stateDirectory(process.env),
    ...(invocation.artifactDir === null ? {} : { artifactDir: invocation.artifactDir }),
    ...(invocation.leavesRuns ? {} : { reaper: [...programWords(process), 'reap'] }),
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
