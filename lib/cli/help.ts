import { type Flag, hintOf } from '../protocol/flag.ts'
import { doorFlags, helpFlag, promptFlags, runFlags } from './flags.ts'

/** What the help tells of a subcommand. */
export interface DescribedCommand {
  usage: string
  description: string
  flags: readonly Flag[]
  details?: readonly string[]
  examples: readonly string[]
}

/** The help of nacre as a whole. */
export function describeUsage(version: string, commands: readonly DescribedCommand[]): string {
  return [
    `nacre ${version}: one shell executor for coding agents, scripts and people`,
    '',
    'Usage:',
    '  nacre                              interactive (needs a terminal)',
    '  nacre -c <command>                 run one command',
    "  nacre -p <prompt>                  answer one prompt; '!<command>' runs a command",
    '  nacre --rpc                        JSON-RPC 2.0 on stdin and stdout',
    ...commands.map(({ usage, description }) => inColumns(`  ${usage}`, description, 37)),
    '',
    'Front door:',
    ...describeFlags(doorFlags),
    '',
    'Prompts for a model:',
    ...describeFlags(promptFlags),
    '',
    'Shaping a run:',
    ...describeFlags(runFlags),
    '',
    'Examples:',
    "  nacre -c 'git log --oneline | head -3'",
    "  nacre -c 'npm test' --timeout 300 --output-format json",
    "  echo '!ls | wc -l' | nacre -p",
    '',
    'Exit status: that of the command; of a prompt 0 answered, 1 not; 124 timed out, 125 nacre failed, 126 denied, 127 not found,',
    '128+n ended by signal n.',
    '',
  ].join('\n')
}

/** The help of one subcommand. */
export function describeCommand(command: DescribedCommand): string {
  const { usage, description, flags, details = [], examples } = command
  return [
    usage,
    '',
    description,
    '',
    ...(details.length > 0 ? [...details, ''] : []),
    'Options:',
    ...describeFlags([...flags, helpFlag]),
    '',
    'Examples:',
    ...examples.map((example) => `  ${example}`),
    '',
  ].join('\n')
}

/** What it is called, then what it does: in the next line where the name is too long. */
function inColumns(words: string, description: string, width: number): string {
  const room = words.length < width ? words.padEnd(width) : `${words}\n${' '.repeat(width)}`
  return room + description
}

export function describeFlags(flags: readonly Flag[]): string[] {
  return flags.map((flag) => {
    const short = flag.short ? `-${flag.short}, ` : '    '
    const words = `  ${short}--${flag.name}${flag.shape === null ? '' : ` <${hintOf(flag.shape)}>`}`
    return inColumns(words, flag.description, 36)
  })
}
