import { resolve } from 'node:path'
import { exitStatusOf } from '../cli/exit-status.ts'
import { flags, globalFlags, promptFlags, runFlags } from '../cli/flags.ts'
import { writeCommandHelp, writeFlagHelp, writeUsage } from '../cli/help.ts'
import { readPromptOptions } from '../cli/invocation.ts'
import { parseArgv } from '../cli/parse-argv.ts'
import { commands, listCommands } from '../commands/commands.ts'
import { logicalDirectory, nothingConfigured, stateDirectory } from '../config/configuration.ts'
import type { Command } from '../doors/command.ts'
import type { Streams } from '../doors/streams.ts'
import type { Flag } from '../protocol/request/fields.ts'
import { wrongUsage } from '../protocol/errors.ts'
import { version, unknownName } from '../protocol/wire.ts'
import { withExecutor } from './doors.ts'
import {
  agentSettings,
  configure,
  describeConfiguration,
  executorOptions,
  tellNotices,
} from './settings.ts'

/** Shows what nacre can do; `isShort`: on one screen. */
export async function showUsage(streams: Streams, isShort = false): Promise<number> {
  await streams.stdout.write(writeUsage(version, await listCommands(), isShort))
  return 0
}

/** `nacre help`, `nacre help job`, `nacre help job wait`, `nacre help timeout`. */
export async function help([word, ...more]: readonly string[], streams: Streams): Promise<number> {
  if (word === undefined) return showUsage(streams)
  const command = Object.hasOwn(commands, word) ? (await commands[word]?.())?.command : undefined
  const name = word.replace(/^-{1,2}/, '')
  const flag = flags.find((known) => known.name === name || known.short === name)
  const [action = '', ...others] = more
  if (more.length > 0 && (others.length > 0 || !Object.hasOwn(command?.actions ?? {}, action))) {
    throw wrongUsage('Usage: nacre help <word>')
  }
  if (command) await streams.stdout.write(writeCommandHelp(command))
  else if (flag) await streams.stdout.write(writeFlagHelp(flag))
  else throw unknownName('word', word, [...Object.keys(commands), ...flags.map((it) => it.name)])
  return 0
}

/** Every option that a subcommand takes; without one, those of nacre itself. */
function flagsOf(command?: Command): readonly Flag[] {
  if (command === undefined) return flags
  const own = [
    ...command.flags,
    ...(command.takesPromptOptions ? promptFlags : []),
    ...(command.takesRunOptions ? runFlags : []),
  ]
  return [...own, ...globalFlags.filter(({ name }) => own.every((flag) => flag.name !== name))]
}

/** Runs a subcommand with the words behind its name. */
export async function runCommand(
  command: Command,
  argv: readonly string[],
  streams: Streams,
): Promise<number> {
  const { options, positionals, ...parsed } = parseArgv(argv, flagsOf(command), {
    home: process.env['HOME'],
  })
  if (options['help']) {
    await streams.stdout.write(writeCommandHelp(command))
    return 0
  }
  if (command.takesNoWords && positionals.length > 0) {
    throw wrongUsage(`Usage: ${command.usage}`)
  }
  const run = command.takesRunOptions ? parsed.run : {}
  const cwd = resolve(logicalDirectory(process.env), parsed.run.cwd ?? '.')
  return command.run({
    options,
    positionals,
    streams,
    environment: process.env,
    cwd,
    stateDir: stateDirectory(process.env),
    configuration: () => describeConfiguration({ cwd }),
    agentSettings: async () =>
      agentSettings(await configure({ ...run }), { run, prompt: readPromptOptions(options) }),
    async useExecutor(use, { toolNames = [], configured = true } = {}) {
      const configuration = configured ? await configure({ ...run }) : nothingConfigured
      const artifactDir = options['artifactDir'] as string | undefined
      const door = {
        artifactDir: artifactDir === undefined ? null : resolve(artifactDir),
        toolNames,
        toTerminal: false,
        run,
        rules: command.takesPromptOptions ? readPromptOptions(options).allow : [],
        leavesRuns: command.leavesRuns ?? false,
      }
      const mayTell = !command.hidden && options['quiet'] !== true
      if (mayTell) await tellNotices(configuration, streams)
      return withExecutor({ ...executorOptions(configuration, door), cwd }, streams, use)
    },
    flagsOf,
    commands: listCommands,
    exitStatusOf,
  })
}
