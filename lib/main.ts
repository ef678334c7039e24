import { dirname, resolve } from 'node:path'
import { exitStatusOf, failureStatus, signalStatus } from './cli/exit-status.ts'
import { flags, helpFlag, runFlags } from './cli/flags.ts'
import { describeCommand, describeUsage } from './cli/help.ts'
import { parseArgv, type ParsedArgv } from './cli/parse-argv.ts'
import { chooseMode, type Invocation, readInvocation } from './cli/invocation.ts'
import { programWords } from './cli/program.ts'
import { readRunOptions, type RunOptions } from './cli/run-options.ts'
import { version } from './cli/version.ts'
import { assemble, type Configuration } from './config/configuration.ts'
import { logicalDirectory, stateDirectory, userConfigFile } from './config/paths.ts'
import { readConfiguration } from './config/read-configuration.ts'
import type { Executor, ExecutorOptions } from './executor/executor.ts'
import type { Command } from './modes/command.ts'
import { commands, listCommands } from './modes/commands.ts'
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
    const status = load
      ? await runCommand((await load()).command, argv.slice(1), streams)
      : await dispatch(parseArgv(argv, flags), streams)
    const { failure } = streams.stdout
    if (failure === null) return status
    throw new MisuseError('unwritable_stdout', `Cannot write standard output: ${failure}`)
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
  const own = command.takesRunOptions ? [...command.flags, ...runFlags] : command.flags
  const { options, positionals } = parseArgv(argv, [...own, helpFlag])
  if (options['help']) {
    await streams.stdout.write(describeCommand(command))
    return 0
  }
  const run = command.takesRunOptions ? readRunOptions(options) : {}
  const cwd = resolve(logicalDirectory(process.env), run.cwd ?? '.')
  return command.run({
    options,
    positionals,
    streams,
    environment: process.env,
    cwd,
    stateDir: stateDirectory(process.env),
    version,
    configuration: () => configure({}),
    async useExecutor(use, { toolNames = [], configured = true } = {}) {
      const configuration = configured ? await configure({ ...run }) : assemble([], noFiles)
      const artifactDir = options['artifact-dir'] as string | undefined
      const door = {
        artifactDir: artifactDir === undefined ? null : resolve(artifactDir),
        toolNames,
        toTerminal: false,
        run,
        leavesRuns: command.leavesRuns ?? false,
      }
      const mayTell = !command.hidden && options['quiet'] !== true
      if (mayTell) await tell(configuration.notices, streams)
      return withExecutor({ ...executorOptions(configuration, door), cwd }, streams, use)
    },
    flags,
    runFlags,
    commands: listCommands,
    exitStatusOf,
  })
}

async function dispatch(parsed: ParsedArgv, streams: Streams): Promise<number> {
  const mode = chooseMode(parsed)
  switch (mode) {
    case 'help':
      await streams.stdout.write(describeUsage(version, await listCommands()))
      return 0
    case 'version':
      await streams.stdout.write(`${version}\n`)
      return 0
    case 'print': {
      const configuration = await configure(parsed.options)
      const invocation = readInvocation(parsed, configuration)
      if (!invocation.print.quiet) await tell(configuration.notices, streams)
      const options = executorOptions(configuration, {
        artifactDir: invocation.artifactDir,
        run: invocation.print.run,
        toTerminal: streams.stdout.isTerminal && invocation.passesThrough,
      })
      const { print } = await import('./modes/print/print.ts')
      return withExecutor(options, streams, (executor, signal) =>
        print(invocation.print, {
          executor,
          runSupervised: (input, options = {}) =>
            runSupervised(supervision(invocation), input, options),
          streams,
          signal,
          exitStatusOf,
        }),
      )
    }
    case 'rpc':
      return serve(parsed, streams)
    case 'repl':
      return converse(parsed, streams)
  }
}

async function converse(parsed: ParsedArgv, streams: Streams): Promise<number> {
  if (streams.input !== 'terminal' || !streams.stdout.isTerminal) {
    throw new MisuseError(
      'no_terminal',
      "The REPL needs a terminal; use --print: nacre -p '!<command>'",
    )
  }
  const configuration = await configure(parsed.options)
  const { artifactDir, print } = readInvocation(parsed, configuration)
  await tell(configuration.notices, streams)
  const options = executorOptions(configuration, { artifactDir, toTerminal: false, run: print.run })
  const { repl } = await import('./modes/repl/repl.ts')
  const cwd = resolve(logicalDirectory(process.env), print.run.cwd ?? '.')
  return withExecutor(options, streams, (executor, signal, onCrash) =>
    repl({
      executor,
      streams,
      signal,
      environment: process.env,
      cwd,
      stateDir: stateDirectory(process.env),
      version,
      model: configuration.model,
      sandbox: options.defaults?.sandbox ?? 'off',
      onCrash,
    }),
  )
}

async function serve(parsed: ParsedArgv, streams: Streams): Promise<number> {
  const configuration = await configure(parsed.options)
  const { artifactDir, print } = readInvocation(parsed, configuration)
  await tell(configuration.notices, streams)
  let names: readonly string[] = []
  const toolNames = () => names
  const options = executorOptions(configuration, {
    artifactDir,
    toTerminal: false,
    run: print.run,
    toolNames,
  })
  const learnToolNames = (told: readonly string[]) => {
    names = told
  }
  const { serveRpc } = await import('./modes/rpc/rpc.ts')
  const cwd = logicalDirectory(process.env)
  const status = await withExecutor(options, streams, (executor, signal) =>
    serveRpc({ executor, streams, signal, version, cwd, learnToolNames }),
  )
  // What a client that has stopped reading leaves in the pipe would keep the process.
  process.exit(status)
}

/** Reads the configuration once; of the flags, those that say where it lies. */
function configure({ cwd, workspace }: Readonly<Record<string, unknown>>): Promise<Configuration> {
  return readConfiguration({
    environment: process.env,
    cwd: logicalDirectory(process.env),
    runCwd: cwd as string | undefined,
    workspace: workspace as string | undefined,
  })
}

async function tell(notices: readonly string[], { stderr }: Streams): Promise<void> {
  for (const notice of notices) await stderr.write(`nacre: ${notice}\n`)
}

const noFiles = { files: [], notices: [], neverTerminals: false } as const

interface DoorOptions {
  toTerminal: boolean
  artifactDir?: string | null
  /** What flags say of every run; it wins over what is configured. */
  run?: RunOptions
  toolNames?: readonly string[] | (() => readonly string[])
  /** Its runs outlive it even where it is killed. */
  leavesRuns?: boolean
}

/** What is configured, as the executor takes it. */
function executorOptions(configuration: Configuration, door: DoorOptions): ExecutorOptions {
  const artifactDir = door.artifactDir ?? configuration.artifactDir
  const cwd = logicalDirectory(process.env)
  const { run = {} } = door
  const { defaults } = configuration
  return {
    cwd,
    environment: process.env,
    stateDir: stateDirectory(process.env),
    ...(artifactDir === null ? {} : { artifactDir }),
    artifactLimits: configuration.artifactLimits,
    defaults: {
      ...defaults,
      ...run,
      ...(run.cwd !== undefined && { cwd: resolve(cwd, run.cwd) }),
      env: { ...defaults.env, ...run.env },
    },
    timeoutSeconds: configuration.timeoutSeconds,
    terminals: configuration.neverTerminals ? 'off' : run.pty ? 'auto' : configuration.terminals,
    prefix: configuration.prefix,
    guardOptions: {
      rules: configuration.guardRules,
      suggestTool: configuration.suggestTool,
      toolNames: door.toolNames ?? [],
    },
    sandbox: {
      hidden: [dirname(userConfigFile(process.env)), ...configuration.hiddenPaths],
      writable: configuration.writableFolders,
      fallback: configuration.sandboxMayFallBack && run.sandbox === undefined,
    },
    ...(door.leavesRuns ? {} : { reaper: [...programWords(process), 'reap'] }),
    toTerminal: door.toTerminal,
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

/** How long the runs have to end after a fault of nacre's own: the graces of a stop. */
const crashGraceMs = 6000

/** Whatever ends nacre ends its runs; only KILL cannot be heard. */
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGALRM', 'SIGUSR2'] as const

async function withExecutor(
  options: ExecutorOptions,
  streams: Streams,
  use: (
    executor: Executor,
    signal: AbortSignal,
    onCrash: (restore: () => void) => void,
  ) => Promise<number>,
): Promise<number> {
  const { createExecutor } = await import('./executor/executor.ts')
  const executor = createExecutor(options)
  const ending = new AbortController()
  let endedBy: NodeJS.Signals | null = null
  const end = (signal: NodeJS.Signals) => {
    endedBy ??= signal
    ending.abort()
  }
  let restore = () => {}
  const crash = (error: unknown) => {
    restore()
    process.exitCode = failureStatus
    void streams.stderr.write(`nacre: internal error: ${messageOf(error)}\n`)
    // What has failed may be what the runs wait for.
    setTimeout(() => process.exit(failureStatus), crashGraceMs)
    void executor.close().then(() => process.exit(failureStatus))
  }
  for (const signal of endingSignals) process.on(signal, end)
  process.on('uncaughtException', crash)
  try {
    const status = await use(executor, ending.signal, (wanted) => {
      restore = wanted
    })
    return endedBy === null ? status : signalStatus(endedBy)
  } finally {
    await executor.close()
    process.off('uncaughtException', crash)
    for (const signal of endingSignals) process.off(signal, end)
  }
}
