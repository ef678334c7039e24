import { resolve } from 'node:path'
import { MisuseError } from '../protocol/errors.ts'
import { unknownName } from '../protocol/wire.ts'
import type { ParsedArgv } from './parse-argv.ts'
import { readRunOptions, type RunOptions } from './run-options.ts'

/** What a command line asks for, front door and all. */
export interface Invocation {
  mode: 'help' | 'version' | 'print' | 'rpc' | 'repl'
  /** Null: the folder of the state. */
  artifactDir: string | null
  /** Whether output goes to the streams as the command writes it. */
  passesThrough: boolean
  print: PrintInvocation
}

export interface PrintInvocation {
  prompt: string | null
  isCommand: boolean
  outputFormat: 'text' | 'json' | 'stream-json'
  inputFormat: 'text' | 'lines'
  quiet: boolean
  run: RunOptions
}

/** Chooses the front door, once. Throws `MisuseError` where the words contradict each other. */
export function chooseMode({ options, positionals }: ParsedArgv): Invocation {
  const command = options['command'] as string | undefined
  const outputFormat = (options['output-format'] ?? 'text') as PrintInvocation['outputFormat']
  const artifactDir = options['artifact-dir'] as string | undefined
  if (command !== undefined && positionals.length > 0) {
    const words = positionals.join(' ')
    throw new MisuseError('wrong_usage', `Unexpected words after the command: ${words}; quote it`)
  }
  return {
    mode: modeOf(options, positionals),
    artifactDir: artifactDir === undefined ? null : resolve(artifactDir),
    passesThrough: outputFormat === 'text',
    print: {
      prompt: command ?? (positionals.length > 0 ? positionals.join(' ') : null),
      isCommand: command !== undefined,
      outputFormat,
      inputFormat: (options['input-format'] ?? 'text') as PrintInvocation['inputFormat'],
      quiet: options['quiet'] === true,
      run: readRunOptions(options),
    },
  }
}

const modes = ['rpc', 'print', 'repl'] as const

function modeOf(
  options: Readonly<Record<string, unknown>>,
  positionals: readonly string[],
): Invocation['mode'] {
  if (options['help']) return 'help'
  if (options['version']) return 'version'
  if (options['rpc']) return 'rpc'
  if (options['print'] || options['command'] !== undefined) return 'print'
  const named = options['mode'] as string | undefined
  if (named !== undefined) {
    const mode = modes.find((known) => known === named)
    if (mode) return mode
    throw unknownName('mode', named, modes)
  }
  const [word] = positionals
  if (word !== undefined) {
    throw new MisuseError('wrong_usage', `Unknown command \`${word}\`; for a prompt use nacre -p`)
  }
  return 'repl'
}
