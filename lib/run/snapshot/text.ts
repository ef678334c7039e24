import { spawn } from 'node:child_process'
import type { CapturedParts } from './capture.ts'
import type { Definitions } from './definitions.ts'

/** Which of the person's shell, checked: the parts that it reads back without an error. */
export interface ReadableSetUp extends Definitions {
  /** The options of the shell, which are read first. */
  options: string
  prelude: string
  /** Names of the parts that are missing since the shell would not read them. */
  dropped: string[]
}

/** What is different between the shells that can take a person's set-up over. */
interface Reading {
  /** The words by which it looks over a text without running it. */
  check: readonly string[]
  composeOptions(parts: CapturedParts): string
}

export const noSetUp: ReadableSetUp = {
  options: '',
  prelude: '',
  functions: new Map(),
  aliases: new Map(),
  dropped: [],
}

/** Keeps what the shell itself would read back. */
export async function checkSetUp(
  shell: { file: string; name: string },
  parts: CapturedParts,
): Promise<ReadableSetUp> {
  const reading = readings[shell.name]
  if (reading === undefined) return noSetUp
  const { functions, aliases, prelude } = parts
  const options = reading.composeOptions(parts)
  const texts = {
    options,
    functions: [prelude, ...functions.values()].join('\n'),
    aliases: [...aliases.values()].map(spellAlias).join('\n'),
  }
  const checks = Object.entries(texts).map(async ([name, text]) => {
    const isFine = text.trim() === '' || (await isReadable(shell.file, reading.check, text))
    return isFine ? [] : [name]
  })
  const dropped = (await Promise.all(checks)).flat()
  const keep = <Part>(name: string, part: Part, none: Part) =>
    dropped.includes(name) ? none : part
  return {
    options: keep('options', options, ''),
    prelude: keep('functions', prelude, ''),
    functions: keep('functions', functions, new Map()),
    aliases: keep('aliases', aliases, new Map()),
    dropped,
  }
}

/**
 * The whole set-up, for a shell that stays. Options first, since they may change how functions are read;
 * aliases last, since they would too.
 */
export function composeSetUp({ options, prelude, functions, aliases }: ReadableSetUp): string {
  return [options, prelude, composeDefinitions({ functions, aliases })].join('\n').trim()
}

/** The functions, then the aliases. */
export function composeDefinitions({ functions, aliases }: Definitions): string {
  return [...functions.values(), ...[...aliases.values()].map(spellAlias), ''].join('\n')
}

/** `alias -=…` would be an option: older versions of bash print it so. */
function spellAlias(definition: string): string {
  return definition.replace(/^alias (?=-[^\s-][^\s=]*=|-=)/, 'alias -- ').trimEnd()
}

const bashReading: Reading = {
  check: ['--norc', '--noprofile', '-O', 'extglob', '-n'],
  composeOptions({ optionsBefore, optionsAfter }) {
    const before = new Set(optionsBefore.split('\n'))
    return optionsAfter
      .split('\n')
      .filter((line) => !before.has(line) && !bashUnwanted.has(line.split(' ').at(-1) ?? ''))
      .map((line) => `\\builtin ${line}\n`)
      .join('')
  },
}

/** Whether a bash would read this text without an error. */
export function isReadableBash(bash: string, text: string): Promise<boolean> {
  return isReadable(bash, bashReading.check, text)
}

const zshReading: Reading = {
  check: ['-f', '-o', 'extendedglob', '-n'],
  composeOptions({ optionsAfter }) {
    const names = optionsAfter.split('\n').filter((name) => name !== '' && !zshUnwanted.test(name))
    return names.length === 0 ? '' : `\\builtin setopt ${names.join(' ')}\n`
  },
}

const readings: Readonly<Record<string, Reading>> = { bash: bashReading, zsh: zshReading }

/**
 * Options that are left as they are: of interactive shells, not to be changed, or such that each
 * command would end the shell or be shown.
 */
const bashUnwanted = new Set([
  ...['emacs', 'vi', 'history', 'histexpand', 'monitor', 'notify', 'ignoreeof', 'privileged'],
  ...['errexit', 'noexec', 'onecmd', 'xtrace', 'verbose', 'interactive-comments', 'posix'],
  ...['login_shell', 'restricted_shell', 'expand_aliases', 'extdebug', ''],
])

const zshUnwanted =
  /^(?:no)?(?:interactive|monitor|zle|shinstdin|login|privileged|restricted|exec|errexit|errreturn|xtrace|verbose|singlecommand|ignoreeof|notify|hup|checkjobs|prompt.*|transientrprompt|beep|.*hist.*|emacs|vi)$/

function isReadable(shell: string, args: readonly string[], text: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(shell, args, { stdio: ['pipe', 'ignore', 'ignore'] })
    child.once('error', () => resolve(false))
    child.once('exit', (code) => resolve(code === 0))
    // There is none where the system has no more descriptors.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(text)
  })
}
