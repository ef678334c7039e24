import { exitStatusOf, failureStatus, notFoundStatus } from './cli/exit-status.ts'
import { flags } from './cli/flags.ts'
import { chooseMode, type Invocation, isDoorChosen, readInvocation } from './cli/invocation.ts'
import { parseArgv, type ParsedArgv } from './cli/parse-argv.ts'
import { commands, innerCommands } from './commands/commands.ts'
import type { Configuration } from './config/configuration.ts'
import type { Command } from './doors/command.ts'
import { openStreams, type Streams } from './doors/streams.ts'
import { becomeShell } from './executor/become-shell.ts'
import type { Approve, ExecutorOptions } from './executor/executor.ts'
import { configure, executorOptions, tellNotices } from './main/settings.ts'
import { MisuseError } from './protocol/errors.ts'
import { version } from './protocol/wire.ts'
import { isRaw, readWords } from './system/process/become.ts'

/** Takes the words after the program's name; gives the exit status. */
export async function main(given: readonly string[]): Promise<number> {
  const streams = openStreams(process)
  try {
    const status = await choose(readWords(given), streams)
    const { failure } = streams.stdout
    if (failure === null) return status
    throw new MisuseError('unwritable_stdout', `Cannot write standard output: ${failure}`)
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    await streams.stderr.write(`nacre: ${error.message}\n`)
    return error.code === 'unknown_command' ? notFoundStatus : failureStatus
  }
}

/** A subcommand, which options of nacre may stand before, or a front door. */
async function choose(words: readonly string[], streams: Streams): Promise<number> {
  const [first, ...rest] = words
  if (first === 'help') return (await import('./main/subcommands.ts')).help(rest, streams)
  if (first === '-h' && rest.length === 0) return showUsage(streams, true)
  const command = findCommand(first)
  if (command) return runCommand(command, rest, streams)
  const parsed = parseArgv(words, flags, { home: process.env['HOME'], asShell: true })
  const { options, positionals, isSeparated } = parsed
  const named = isSeparated || isDoorChosen(options) ? null : findCommand(positionals[0])
  if (!named) return open(parsed, words, streams)
  const before = words.slice(0, words.length - positionals.length)
  return runCommand(named, [...before, ...positionals.slice(1)], streams)
}

type LoadCommand = () => Promise<{ command: Command }>

function findCommand(name = ''): LoadCommand | null {
  const table = [commands, innerCommands].find((known) => Object.hasOwn(known, name))
  return table?.[name] ?? null
}

async function runCommand(
  load: LoadCommand,
  words: readonly string[],
  streams: Streams,
): Promise<number> {
  const [{ command }, subcommands] = await Promise.all([load(), import('./main/subcommands.ts')])
  return subcommands.runCommand(command, words, streams)
}

async function showUsage(streams: Streams, isShort: boolean): Promise<number> {
  return (await import('./main/subcommands.ts')).showUsage(streams, isShort)
}

async function open(
  parsed: ParsedArgv,
  words: readonly string[],
  streams: Streams,
): Promise<number> {
  const chosen = chooseMode(parsed, [...Object.keys(commands), 'help'])
  // login(1), su and sshd call the shell of a person so.
  const isLogin = process.argv0.startsWith('-')
  // As a shell: its commands are on standard input where no terminal is.
  const { input } = streams
  const isScript = chosen === 'repl' && (input === 'given' || (isLogin && input === 'empty'))
  if (isScript) parsed.options['stdin'] = true
  if (chosen === 'help') return showUsage(streams, false)
  if (chosen === 'version') {
    await streams.stdout.write(`${version}\n`)
    return 0
  }
  const isPrint = isScript || chosen === 'print'
  if (isPrint && isLogin) parsed.run.login = true
  const configuration = await configure(parsed.options)
  const invocation = readInvocation(parsed, configuration)
  if (!invocation.print.quiet) await tellNotices(configuration, streams)
  if (isPrint) return runPrint(invocation, configuration, words, streams)
  const doors = await import('./main/doors.ts')
  if (chosen === 'repl') return doors.converse(invocation, configuration, streams)
  // The clients of the second dialect start it by its mode.
  const firstDialect = parsed.options['mode'] === 'rpc' ? 'pi' : 'json-rpc'
  return doors.serve(invocation, configuration, streams, firstDialect)
}

/** A command line that only a shell has to run makes nacre that shell; for any other, nacre stays. */
async function runPrint(
  invocation: Invocation,
  configuration: Configuration,
  words: readonly string[],
  streams: Streams,
): Promise<number> {
  const { print, artifactDir } = invocation
  const options = executorOptions(configuration, {
    artifactDir,
    run: print.run,
    givesRunOptions: true,
    rules: print.model.allow,
    toTerminal: streams.stdout.isTerminal && print.outputFormat === 'text',
    personAtInput: streams.input === 'terminal',
  })
  const ended = invocation.standsAsShell ? await become(invocation, options, streams) : null
  if (ended !== null) return ended
  if (words.some(isRaw)) {
    const message =
      'A word of the command line is not UTF-8; only a shell that nacre becomes can have it: leave out the options of nacre'
    throw new MisuseError('invalid_field', message)
  }
  const { openPrint } = await import('./main/doors.ts')
  return openPrint(invocation, configuration, options, streams)
}

/** Gives an exit status where it is over; null: nacre has to stay. */
async function become(
  { print: asked }: Invocation,
  options: ExecutorOptions,
  streams: Streams,
): Promise<number | null> {
  const canAsk = streams.input === 'terminal' && streams.stderr.isTerminal
  const approve: Approve = async (...question) => {
    const { createApprove } = await import('./doors/terminal.ts')
    return createApprove(asked, streams)?.(...question) ?? false
  }
  const input = { ...asked.run, ...asked.subject, origin: 'print' } as const
  const ended = await becomeShell(input, options, canAsk ? { approve } : {})
  if (ended === null || typeof ended === 'number') return ended
  const { tellResult } = await import('./doors/print/answer.ts')
  await tellResult(ended, null, asked, streams)
  return exitStatusOf(ended)
}
