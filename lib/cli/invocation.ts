import { resolve } from 'node:path'
import { MisuseError } from '../protocol/errors.ts'
import { unknownName } from '../protocol/wire.ts'
import type { ParsedArgv } from './parse-argv.ts'
import type { RunFields } from '../protocol/request.ts'
import { type PromptOptions, readPromptOptions } from './prompt-options.ts'
import { readRunOptions } from './run-options.ts'

/** Which front door a command line asks for, or what it only asks to see. */
export type InvocationMode = 'help' | 'version' | 'print' | 'rpc' | 'repl'

/** What a command line asks for, with what is configured where it does not say. */
export interface Invocation {
  /** Null: the folder of the state. */
  artifactDir: string | null
  /** Whether output goes to the streams as the command writes it. */
  passesThrough: boolean
  print: PrintInvocation
}

/** What holds where the command line does not say. */
export interface InvocationDefaults {
  outputFormat: PrintInvocation['outputFormat']
  artifactDir: string | null
  defaults: Pick<RunFields, 'streams' | 'artifact'>
}

export interface PrintInvocation {
  prompt: string | null
  isCommand: boolean
  outputFormat: 'text' | 'json' | 'stream-json'
  inputFormat: 'text' | 'lines'
  quiet: boolean
  run: RunFields
  /** Of prompts for a model. */
  model: PromptOptions
}

/** Throws `MisuseError` where the words contradict each other. */
export function readInvocation(
  { options, positionals }: ParsedArgv,
  { outputFormat: usualFormat, artifactDir: usualDir, defaults }: InvocationDefaults,
): Invocation {
  const command = options['command'] as string | undefined
  const outputFormat = (options['output-format'] ?? usualFormat) as PrintInvocation['outputFormat']
  const artifactDir = options['artifact-dir'] as string | undefined
  if (command !== undefined && positionals.length > 0) {
    const words = positionals.join(' ')
    throw new MisuseError('wrong_usage', `Unexpected words after the command: ${words}; quote it`)
  }
  const prompt = command ?? (positionals.length > 0 ? positionals.join(' ') : null)
  const inputFormat = (options['input-format'] ?? 'text') as PrintInvocation['inputFormat']
  if (inputFormat === 'lines' && prompt !== null) {
    throw new MisuseError(
      'wrong_usage',
      '`--input-format lines` reads prompts from standard input; leave this one out',
    )
  }
  return {
    artifactDir: artifactDir === undefined ? usualDir : resolve(artifactDir),
    passesThrough: outputFormat === 'text',
    print: {
      prompt,
      isCommand: command !== undefined,
      outputFormat,
      inputFormat,
      quiet: options['quiet'] === true,
      run: { ...passedThrough(defaults), ...readRunOptions(options) },
      model: readPromptOptions(options),
    },
  }
}

/**
 * Of what is configured, only this concerns output that passes through; limits of lines and bytes
 * are for what is read as a result, unless the command line itself asks for them.
 */
function passedThrough({ streams, artifact }: InvocationDefaults['defaults']): RunFields {
  return { ...(streams && { streams }), ...(artifact && { artifact }) }
}

const modes = ['rpc', 'print', 'repl'] as const

/** Chooses the front door, once. Throws `MisuseError` where there is none of that name. */
export function chooseMode(parsed: ParsedArgv): InvocationMode {
  const mode = findMode(parsed)
  const { command } = parsed.options
  if (mode === 'rpc' && (command !== undefined || parsed.positionals.length > 0)) {
    throw new MisuseError(
      'wrong_usage',
      'The RPC mode reads its requests from standard input alone',
    )
  }
  return mode
}

function findMode({ options, positionals }: ParsedArgv): InvocationMode {
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
