import { resolve } from 'node:path'
import { exitStatusOf, failureStatus } from './cli/exit-status.ts'
import { flags, helpFlag, runFlags } from './cli/flags.ts'
import { describeCommand, describeUsage } from './cli/help.ts'
import { parseArgv, type ParsedArgv } from './cli/parse-argv.ts'
import { chooseMode, readInvocation } from './cli/invocation.ts'
import { readRunOptions } from './cli/run-options.ts'
import { version } from './cli/version.ts'
import { logicalDirectory, stateDirectory } from './config/paths.ts'
import { agentSettings } from './main/agent-settings.ts'
import { configure, configureNothing } from './main/configure.ts'
import { executorOptions } from './main/executor-options.ts'
import { supervise } from './main/supervise.ts'
import { withExecutor } from './main/with-executor.ts'
import type { Command } from './modes/command.ts'
import { commands, listCommands } from './modes/commands.ts'
import { openStreams, type Streams } from './modes/streams.ts'
import { MisuseError } from './protocol/errors.ts'

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
      const configuration = configured ? await configure({ ...run }) : configureNothing()
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
        givesRunOptions: true,
        rules: invocation.print.model.allow,
        toTerminal: streams.stdout.isTerminal && invocation.passesThrough,
      })
      const { print } = await import('./modes/print/print.ts')
      return withExecutor(options, streams, (executor, signal) =>
        print(invocation.print, {
          executor,
          runSupervised: (input, options) => supervise(invocation.artifactDir, input, options),
          streams,
          signal,
          exitStatusOf,
          agentSettings: () =>
            agentSettings(configuration, { ...invocation.print, prompt: invocation.print.model }),
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
      sandbox:
        options.defaults?.sandbox === 'auto' ? 'workspace' : (options.defaults?.sandbox ?? 'off'),
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

async function tell(notices: readonly string[], { stderr }: Streams): Promise<void> {
  for (const notice of notices) await stderr.write(`nacre: ${notice}\n`)
}
