import { resolve } from 'node:path'
import { exitStatusOf, failureStatus } from '../cli/exit-status.ts'
import { flags, globalFlags, promptFlags, runFlags } from '../cli/flags.ts'
import { parseArgv, type ParsedArgv } from '../cli/parse-argv.ts'
import { chooseMode, isDoorChosen, optionsGoOn, readInvocation } from '../cli/invocation.ts'
import { readPromptOptions, readRunOptions } from '../cli/options.ts'
import { shellOffFlags } from '../cli/shell-flags.ts'
import { version, unknownName } from '../protocol/wire.ts'
import { logicalDirectory, stateDirectory } from '../config/configuration.ts'
import {
  agentSettings,
  configure,
  configureNothing,
  describeConfiguration,
  executorOptions,
  supervise,
} from './settings.ts'
import { withExecutor } from './with-executor.ts'
import { findWorkspace } from '../system/look.ts'
import type { Command } from '../doors/command.ts'
import type { ControlGroups } from '../system/process/control-group.ts'
import { commands, innerCommands, listCommands } from '../commands/commands.ts'
import { openStreams, type Streams } from '../doors/streams.ts'
import { MisuseError, wrongUsage } from '../protocol/errors.ts'

/** What a run needs of the system before nacre has opened any file of its own. */
export interface RunBeginning {
  /** The descriptors above 2 that a command is given as nacre was. */
  given: readonly number[]
  groups: ControlGroups
}

/** Gives the same beginning each time. */
type Begin = () => RunBeginning

/** Does what the words after the program's name ask for; gives the exit status. */
export async function dispatch(argv: readonly string[], begin: Begin): Promise<number> {
  const streams = openStreams(process)
  try {
    const status = await choose(argv, begin, streams)
    const { failure } = streams.stdout
    if (failure === null) return status
    throw new MisuseError('unwritable_stdout', `Cannot write standard output: ${failure}`)
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    await streams.stderr.write(`nacre: ${error.message}\n`)
    return failureStatus
  }
}

/** A subcommand, which options of nacre may stand before, or a front door. */
async function choose(argv: readonly string[], begin: Begin, streams: Streams): Promise<number> {
  if (argv[0] === 'help') return help(argv.slice(1), streams)
  if (argv[0] === '-h' && argv.length === 1) {
    const { writeUsage } = await import('../cli/help.ts')
    await streams.stdout.write(writeUsage(version, await listCommands(), true))
    return 0
  }
  const first = findCommand(argv[0])
  if (first) return runCommand(await first(), argv.slice(1), streams)
  const parsed = parseArgv(argv, flags, {
    home: process.env['HOME'],
    goesOn: optionsGoOn,
    offFlags: shellOffFlags,
  })
  const { options, positionals, isSeparated } = parsed
  const named = isSeparated || isDoorChosen(options) ? null : findCommand(positionals[0])
  if (!named) return open(parsed, begin, streams)
  const before = argv.slice(0, argv.length - positionals.length)
  return runCommand(await named(), [...before, ...positionals.slice(1)], streams)
}

/** `nacre help`, `nacre help job`, `nacre help job wait`, `nacre help timeout`, `nacre help --man`. */
async function help([word, ...more]: readonly string[], streams: Streams): Promise<number> {
  const { writeCommandHelp, writeFlagHelp, writeUsage } = await import('../cli/help.ts')
  if (word === undefined) {
    await streams.stdout.write(writeUsage(version, await listCommands()))
    return 0
  }
  if (word === '--man' && more.length === 0) {
    const { makeManual } = await import('./manual.ts')
    await streams.stdout.write(await makeManual())
    return 0
  }
  const command = await findCommand(word)?.()
  const actions = command?.usage.match(/[\w-]+/g)
  if (more.length > 1 || !more.every((action) => actions?.includes(action))) {
    throw wrongUsage('Write it so: nacre help <word>')
  }
  const name = word.replace(/^-{1,2}/, '')
  const flag = flags.find((known) => known.name === name || known.short === name)
  if (command) await streams.stdout.write(writeCommandHelp(command))
  else if (flag) await streams.stdout.write(writeFlagHelp(flag))
  else throw unknownName('word', word, [...Object.keys(commands), ...flags.map((it) => it.name)])
  return 0
}

function findCommand(name = ''): (() => Promise<Command>) | null {
  const table = [commands, innerCommands].find((known) => Object.hasOwn(known, name))
  const load = table?.[name]
  return load ? async () => (await load()).command : null
}

async function runCommand(
  command: Command,
  argv: readonly string[],
  streams: Streams,
): Promise<number> {
  const own = [
    ...command.flags,
    ...(command.takesPromptOptions ? promptFlags : []),
    ...(command.takesRunOptions ? runFlags : []),
  ]
  const others = globalFlags.filter(({ name }) => own.every((flag) => flag.name !== name))
  const { options, positionals } = parseArgv(argv, [...own, ...others], {
    home: process.env['HOME'],
  })
  if (options['help']) {
    const { writeCommandHelp } = await import('../cli/help.ts')
    await streams.stdout.write(writeCommandHelp(command))
    return 0
  }
  if (command.takesNoWords && positionals.length > 0) {
    throw wrongUsage(`Write it so: ${command.usage}`)
  }
  const run = command.takesRunOptions ? readRunOptions(options) : {}
  const cwd = resolve(logicalDirectory(process.env), readRunOptions(options).cwd ?? '.')
  return command.run({
    options,
    positionals,
    streams,
    environment: process.env,
    cwd,
    stateDir: stateDirectory(process.env),
    version,
    configuration: () => describeConfiguration({ cwd }),
    agentSettings: async () =>
      agentSettings(await configure({ ...run }), { run, prompt: readPromptOptions(options) }),
    async useExecutor(use, { toolNames = [], configured = true } = {}) {
      const configuration = configured ? await configure({ ...run }) : configureNothing()
      const artifactDir = options['artifact-dir'] as string | undefined
      const door = {
        artifactDir: artifactDir === undefined ? null : resolve(artifactDir),
        toolNames,
        toTerminal: false,
        run,
        rules: command.takesPromptOptions ? readPromptOptions(options).allow : [],
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

async function open(parsed: ParsedArgv, begin: Begin, streams: Streams): Promise<number> {
  const chosen = chooseMode(parsed, [...Object.keys(commands), 'help'])
  // login(1), su and sshd call the shell of a person so, sshd and su also with a script on standard input.
  const isLogin = process.argv0.startsWith('-')
  const isScript = isLogin && chosen === 'repl' && streams.input !== 'terminal'
  if (isScript) parsed.options['stdin'] = true
  const mode = isScript ? 'print' : chosen
  switch (mode) {
    case 'help':
      return help([], streams)
    case 'version':
      await streams.stdout.write(`${version}\n`)
      return 0
    case 'print': {
      if (isLogin) parsed.options['login'] = true
      const { given, groups } = begin()
      const configuration = await configure(parsed.options)
      const invocation = readInvocation(parsed, configuration)
      const { subject, run } = invocation.print
      const isHere = run.host === undefined && run.waitSeconds === undefined
      if (subject !== null && isHere) groups.expectStart()
      if (!invocation.print.quiet) await tell(configuration.notices, streams)
      const options = executorOptions(configuration, {
        artifactDir: invocation.artifactDir,
        holder: (input, options) => supervise(invocation, input, options),
        run: invocation.print.run,
        givesRunOptions: true,
        rules: invocation.print.model.allow,
        toTerminal: streams.stdout.isTerminal && invocation.passesThrough,
        personAtInput: streams.input === 'terminal',
      })
      const { print } = await import('../doors/print/print.ts')
      return withExecutor(
        options,
        streams,
        (executor, signal, _, keepStatus) =>
          print(invocation.print, {
            executor,
            keepStatus,
            given,
            streams,
            signal,
            exitStatusOf,
            agentSettings: () =>
              agentSettings(configuration, { ...invocation.print, prompt: invocation.print.model }),
          }),
        groups,
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
      "The REPL needs a terminal; use --print: nacre -p '!<command>', or nacre -s for commands on standard input",
    )
  }
  const configuration = await configure(parsed.options)
  const { artifactDir, print } = readInvocation(parsed, configuration)
  await tell(configuration.notices, streams)
  const options = executorOptions(configuration, { artifactDir, toTerminal: false, run: print.run })
  const { repl } = await import('../repl/repl.ts')
  const cwd = resolve(logicalDirectory(process.env), print.run.cwd ?? '.')
  const { sandbox: mode = 'off' } = options.defaults ?? {}
  const sandbox = mode === 'auto' ? 'workspace' : mode
  const settings = agentSettings(configuration, { ...print, prompt: print.model })
  // A shell in a sandbox may go anywhere, and what it may write does not follow it.
  if (sandbox !== 'off') settings.workspace ??= findWorkspace(settings.cwd)
  return withExecutor(options, streams, (executor, signal, onCrash) =>
    repl({
      executor,
      streams,
      signal,
      environment: process.env,
      cwd,
      stateDir: stateDirectory(process.env),
      version,
      agentSettings: settings,
      sandbox,
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
    rules: print.model.allow,
    toolNames,
  })
  const learnToolNames = (told: readonly string[]) => {
    names = told
  }
  const { serveRpc } = await import('../doors/rpc/rpc.ts')
  const cwd = logicalDirectory(process.env)
  const status = await withExecutor(options, streams, (executor, signal) =>
    serveRpc({
      executor,
      streams,
      signal,
      version,
      cwd,
      learnToolNames,
      // The clients of the second dialect start it so.
      firstDialect: parsed.options['mode'] === 'rpc' ? 'pi' : 'json-rpc',
      agentSettings: () => agentSettings(configuration, { ...print, prompt: print.model }),
    }),
  )
  // Answers that a silent client never reads would keep this process alive.
  process.exit(status)
}

async function tell(notices: readonly string[], { stderr }: Streams): Promise<void> {
  for (const notice of notices) await stderr.write(`nacre: ${notice}\n`)
}
