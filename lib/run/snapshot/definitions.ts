import { spawn } from 'node:child_process'
import { quoteWord } from '../../protocol/words.ts'
import type { CapturedParts } from './capture.ts'

/** Functions and aliases by their names, each as the text that defines it. */
export interface Definitions {
  readonly functions: ReadonlyMap<string, string>
  readonly aliases: ReadonlyMap<string, string>
}

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

/**
 * The simple aliases of a zsh or fish, for a bash: words, quoted words and pipes of them, which mean the same
 * to each of these shells. One that names a function, or another alias, that is not among them is left out.
 */
export function selectSimpleAliases(
  { functions, aliases }: CapturedParts,
  shell: string,
): ReadonlyMap<string, string> {
  const simple = new Map<string, string>()
  for (const [name, text] of aliases) {
    const value = shell === 'zsh' ? readZshAlias(text) : text
    const isSimple = simpleName.test(name) && simpleValue.test(value) && !ofOneShell.test(value)
    if (isSimple) simple.set(name, value)
  }
  const isMissing = (word: string) =>
    functions.has(word) || (aliases.has(word) && !simple.has(word))
  return new Map(
    [...simple]
      .filter(([name, value]) => !wordsOf(value).some((word) => word !== name && isMissing(word)))
      .map(([name, value]) => [name, `alias ${name}=${quoteWord(value)}`]),
  )
}

/** The value in a line of `alias -L`; empty for one of another kind (`alias -g`). */
function readZshAlias(line: string): string {
  const [, word = ''] = /^alias [^-=][^=]*=((?:'[^']*'|\\'|[^\s'\\$"])+)\s*$/.exec(line) ?? []
  return word.replaceAll(/'([^']*)'|\\(')/g, '$1$2')
}

const simpleName = /^[\w.+@%,:-]+$/
const simpleValue = /^(?:[\w ./:=@%+,~|-]|'[^'\\]*'|"[^"\\$`!]*")+$/

/** Words that only one of these shells knows, and `=program`. */
const ofOneShell =
  /(?:^|[ |])(?:=|(?:noglob|nocorrect|print|whence|where|setopt|unsetopt|rehash|repeat|vared|and|or|string|math)(?:[ |]|$))/

/**
 * What a command needs of a person's functions and aliases: those that it names, and those that these
 * name in turn. To read all of them would cost each command as much as starting its shell (10 ms for
 * 100 KB). A command whose words are known only when it runs may need any of them, and gets all.
 */
export function selectDefinitions(all: Definitions, command: string): Definitions {
  const functions = new Map<string, string>()
  const aliases = new Map<string, string>()
  const texts = [command]
  for (let text = texts.pop(); text !== undefined; text = texts.pop()) {
    if (isOpen(text)) return all
    for (const word of wordsOf(text)) {
      for (const [found, known] of [
        [functions, all.functions],
        [aliases, all.aliases],
      ] as const) {
        const definition = known.get(word)
        if (definition === undefined || found.has(word)) continue
        found.set(word, definition)
        texts.push(definition)
      }
    }
  }
  return { functions, aliases }
}

/** What may be the name of a command in it. */
function wordsOf(text: string): string[] {
  return [...new Set(text.split(separators))]
}

const separators = /[\s;&|()<>`$"'\\{}]+/

/** Whether commands are run in it that it does not spell out. */
function isOpen(text: string): boolean {
  return opensByWord.test(text) || opensByVariable.test(text)
}

/** Commands that run, list or change others by their names. */
const opensByWord =
  /(?:^|[\s;&|({`])(?:eval|source|\.|alias|unalias|declare|typeset|compgen|functions)(?:$|[\s;&|)}`])/

/** A variable or substitution where a command stands. */
const opensByVariable =
  /(?:^|[;&|({`\n!]|(?:^|[\s;&|])(?:then|do|else|elif|if|while|until|time|exec|command|builtin)\s)\s*(?:[A-Za-z_]\w*=\S*\s+)*"?[$`]/
