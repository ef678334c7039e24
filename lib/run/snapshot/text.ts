import { spawn } from 'node:child_process'
import { quoteWord } from '../../protocol/words.ts'
import type { CapturedParts } from './capture.ts'

/** What a session's shell reads, and which parts bash itself would not read back. */
export interface ComposedSetUp {
  text: string
  dropped: string[]
}

/**
 * Options first, since `extglob` changes how functions are read; aliases last, since they would too.
 * Each part is checked by `bash -n`.
 */
export async function composeSetUp(shell: string, parts: CapturedParts): Promise<ComposedSetUp> {
  const texts: Record<string, string> = {
    options: composeOptions(parts),
    functions: parts.functions,
    PATH: parts.path === '' ? '' : `\\builtin export PATH=${quoteWord(parts.path)}\n`,
    // `alias -=…` would be an option: older ones print it so.
    aliases: parts.aliases.replaceAll(/^alias (?=-[^-])/gm, 'alias -- '),
  }
  const dropped: string[] = []
  let text = ''
  for (const [name, part] of Object.entries(texts)) {
    if (part === '' || (await isReadable(shell, part))) text += part
    else dropped.push(name)
  }
  return { text, dropped }
}

/** The lines that the user's file changed, without what only a person's own terminal wants. */
function composeOptions({ optionsBefore, optionsAfter }: CapturedParts): string {
  const before = new Set(optionsBefore.split('\n'))
  return optionsAfter
    .split('\n')
    .filter((line) => !before.has(line) && !unwanted.has(line.split(' ').at(-1) ?? ''))
    .map((line) => `\\builtin ${line}\n`)
    .join('')
}

/**
 * Options that are left as they are: of interactive shells, not to be changed, or such that each
 * command would end the shell or be shown.
 */
const unwanted = new Set([
  ...['emacs', 'vi', 'history', 'histexpand', 'monitor', 'notify', 'ignoreeof', 'privileged'],
  ...['errexit', 'noexec', 'onecmd', 'xtrace', 'verbose', 'interactive-comments', 'posix'],
  ...['login_shell', 'restricted_shell', 'expand_aliases', 'extdebug', ''],
])

function isReadable(shell: string, text: string): Promise<boolean> {
  return new Promise((resolve) => {
    const args = ['--norc', '--noprofile', '-O', 'extglob', '-n']
    const child = spawn(shell, args, { stdio: ['pipe', 'ignore', 'ignore'] })
    child.once('error', () => resolve(false))
    child.once('exit', (code) => resolve(code === 0))
    // There is none where the system has no more descriptors.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(text)
  })
}
