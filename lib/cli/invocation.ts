import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { contradiction, MisuseError, wrongUsage } from '../protocol/errors.ts'
import { nearestName } from '../protocol/wire.ts'
import type { PrintOptions, PromptOptions, Subject } from '../protocol/prompt.ts'
import type { RunFields } from '../protocol/request/request.ts'
import { pick } from '../protocol/shape/shape.ts'
import type { ParsedArgv } from './parse-argv.ts'

/** Which front door a command line asks for, or what it only asks to see. */
export type InvocationMode = 'help' | 'version' | 'print' | 'rpc' | 'repl'

/** What a command line asks for, with what is configured where it does not say. */
export interface Invocation {
  /** Null: the folder of the state. */
  artifactDir: string | null
  /** Whether nacre stands in the place of a shell. */
  standsAsShell: boolean
  print: PrintOptions
}

/** What is configured, which holds where the command line does not say. */
export interface InvocationDefaults {
  values: { output_format?: PrintOptions['outputFormat']; artifact_dir?: string }
  defaults: Pick<RunFields, 'streams' | 'artifact'>
}

/** Throws `MisuseError` where the words contradict each other. */
export function readInvocation(
  parsed: ParsedArgv,
  { values, defaults }: InvocationDefaults,
): Invocation {
  const { options, positionals } = parsed
  const subject = readSubject(parsed)
  const { output_format: usualFormat = 'text', artifact_dir: usualDir = null } = values
  const outputFormat = (options['outputFormat'] ?? usualFormat) as PrintOptions['outputFormat']
  const artifactDir = options['artifactDir'] as string | undefined
  const prompt = subject === null && positionals.length > 0 ? positionals.join(' ') : null
  const inputFormat = (options['inputFormat'] ?? 'text') as PrintOptions['inputFormat']
  if (inputFormat === 'lines' && (subject ?? prompt) !== null) {
    throw wrongUsage('`--input-format lines` reads prompts from standard input; leave this one out')
  }
  return {
    artifactDir: artifactDir === undefined ? usualDir : resolve(artifactDir),
    standsAsShell:
      outputFormat === 'text' &&
      subject !== null &&
      !options['print'] &&
      options['array'] === undefined,
    print: {
      subject,
      prompt,
      outputFormat,
      inputFormat,
      quiet: options['quiet'] === true,
      run: { ...passedThrough(defaults), ...parsed.run },
      model: readPromptOptions(options),
    },
  }
}

/** Null where the words, if there are any, are a prompt. */
function readSubject(parsed: ParsedArgv): Subject | null {
  const { options, positionals, isSeparated, shellOptions } = parsed
  const command = options['command'] as string | undefined
  // Its commands are on standard input.
  if (options['array'] === '-' && command === undefined) return {}
  if (command !== undefined) {
    // `-c ''` is a command that does nothing, as for a shell.
    return { command: command.trim() === '' ? ':' : command, shellOptions, parameters: positionals }
  }
  if (options['stdin']) return { script: '-', shellOptions, parameters: positionals }
  const [script, ...parameters] = positionals
  const isPrompt = script === undefined || options['print'] || options['mode'] !== undefined
  const isProgram = isSeparated && !isCalledBy(script ?? '')
  if ((isPrompt || isProgram) && hasShellOptions(parsed)) {
    throw wrongUsage(
      'Options of a shell, such as `-e` and `-o`, need `-c <command>`, `-s` or a script file',
    )
  }
  if (isPrompt) return null
  return isProgram ? { args: positionals } : { script, shellOptions, parameters }
}

/**
 * Whether the first line of a script calls nacre with `--` at its end, as `#!/bin/bash --` calls another shell. As
 * a program it would start nacre with itself, and so for ever.
 */
function isCalledBy(file: string): boolean {
  const start = Buffer.alloc(256)
  try {
    // The kernel gives a path; a pipe would not be opened before somebody writes to it.
    if (!file.includes('/') || !statSync(file).isFile()) return false
    const fd = openSync(file, 'r')
    readSync(fd, start)
    closeSync(fd)
  } catch {
    // What cannot be read is no script.
    return false
  }
  return /^#!.*nacre[ \t](?:.*[ \t])?--[ \t\r]*\n/.test(start.toString('latin1'))
}

/** Whether options of a shell were given: to a shell, the first word is the name of a script. */
function hasShellOptions({ shellOptions }: Pick<ParsedArgv, 'shellOptions'>): boolean {
  // Terminals and editors start `$SHELL -i`, or `-il`, for a person.
  return shellOptions.some((option) => option !== '-i')
}

/** Whether the options say what nacre is to do, so that no word names a subcommand. */
export function isDoorChosen(options: Readonly<Record<string, unknown>>): boolean {
  return ['command', 'stdin', 'print', 'rpc', 'mode'].some((name) => options[name] !== undefined)
}

/**
 * Of what is configured, only this concerns output that passes through; limits of lines and bytes
 * are for what is read as a result, unless the command line itself asks for them.
 */
function passedThrough({ streams, artifact }: InvocationDefaults['defaults']): RunFields {
  return { ...(streams && { streams }), ...(artifact && { artifact }) }
}

/**
 * Chooses the front door, once. Throws `MisuseError` where there is none of that name; the names of the
 * subcommands are for its message.
 */
export function chooseMode(parsed: ParsedArgv, subcommands: readonly string[]): InvocationMode {
  const { options, positionals, isSeparated, shellOptions } = parsed
  const [word] = positionals
  const isCommand = options['command'] !== undefined || options['stdin'] === true
  if (options['help']) return 'help'
  // `-v` is an option of a shell too; without anything to run it asks for the version.
  const isVerboseAlone = !isCommand && word === undefined && shellOptions.join() === '-v'
  if (options['version'] || isVerboseAlone) return 'version'
  if (options['rpc'] || options['mode'] === 'rpc') {
    if (!isCommand && word === undefined) return 'rpc'
    throw wrongUsage('The RPC mode reads its requests from standard input alone')
  }
  if (options['print'] || isCommand) return 'print'
  if (options['mode'] !== undefined) return options['mode'] as InvocationMode
  if (options['array'] === '-') return 'print'
  if (word === undefined) {
    if (isSeparated) throw wrongUsage('A program is missing: nacre -- <program> [arg…]')
    if (options['array'] === undefined) return 'repl'
    throw wrongUsage('An array needs a command: nacre --array N -c <command>')
  }
  const place = resolve((options['cwd'] as string | undefined) ?? '.', word)
  const isScript = hasShellOptions(parsed) || word.includes('/') || existsSync(place)
  if (isSeparated || isScript) return 'print'
  const nearest = nearestName(word, subcommands)
  const hint = nearest === null ? 'for a prompt use nacre -p' : `did you mean \`${nearest}\`?`
  const message = `Unknown command \`${word}\`, and no script of that name; ${hint}`
  throw new MisuseError('unknown_command', message)
}

/** Those options of one run that hold for every other run of the same nacre, those of a model too: where and how. */
export function placeOptions(run: RunFields): RunFields {
  return {
    ...pick(run, ['cwd', 'env', 'sandbox', 'network', 'workspace']),
    ...pick(run, ['shell', 'login', 'guard', 'hardening']),
  }
}

/** Throws `MisuseError` where two of the options contradict each other. */
export function readPromptOptions(options: Readonly<Record<string, unknown>>): PromptOptions {
  const maxSteps = options['maxSteps'] ?? null
  const maxCost = options['maxCost'] ?? null
  if (options['continue'] === true && options['resume'] !== undefined) {
    throw contradiction('--continue', '--resume')
  }
  const allow = (options['allow'] ?? []) as string[]
  return {
    model: readModel(options),
    outputSchema: (options['outputSchema'] ?? null) as string | null,
    continue: options['continue'] === true,
    resume: (options['resume'] ?? null) as string | null,
    keep: options['session'] !== false,
    maxSteps: maxSteps as number | null,
    maxCostUsd: maxCost as number | null,
    yes: options['yes'] === true,
    allow: allow.map((match) => ({ name: `--allow ${match}`, match, decision: 'allow' })),
  }
}

/** `--provider x --model y` is `x/y`; a provider alone means its usual model. */
function readModel(options: Readonly<Record<string, unknown>>): string | null {
  const { model, provider } = options as { model?: string; provider?: string }
  if (provider === undefined) return model ?? null
  return model === undefined || model.startsWith(`${provider}/`)
    ? (model ?? provider)
    : `${provider}/${model}`
}
