import type { Call } from '../shell/interpreter.ts'
import { spelled } from '../shell/marked-text.ts'
import { inlineAlias, readGit } from '../rules/git.ts'
import { quote } from './quote.ts'

/** Reads the commands that git itself starts: an alias given by `-c`, `submodule foreach`, `--exec`. */
export function readGitScripts({ name, words, scope, interpreter }: Call): void {
  const call = readGit(name, words.slice(1))
  if (!call) return
  const { subcommand, args } = call
  const run = (script: string): void => {
    interpreter.runScript(spelled(script), scope.clone(), null)
  }
  const alias = inlineAlias(call) ?? scope.aliases.get(`git ${subcommand}`) ?? null
  if (alias !== null) {
    const rest = args.map(quote).join(' ')
    run(alias.startsWith('!') ? `${alias.slice(1)} ${rest}` : `git ${alias} ${rest}`)
    return
  }
  if (subcommand === 'config') {
    const [key = '', value] = args.filter((word) => !word.startsWith('-') && word !== 'set')
    if (key.startsWith('alias.') && value !== undefined)
      scope.aliases.set(`git ${key.slice('alias.'.length)}`, value)
    return
  }
  if (subcommand === 'submodule') {
    const at = args.indexOf('foreach')
    if (at >= 0)
      run(
        args
          .slice(at + 1)
          .filter((word) => word !== '--recursive')
          .map(spelled)
          .join(' '),
      )
  } else if (subcommand === 'bisect' && args[0] === 'run') {
    interpreter.runWords(args.slice(1), scope.clone(), null)
  } else if (subcommand === 'rebase') {
    for (const [index, word] of args.entries()) {
      if (word === '-x' || word === '--exec') run(args[index + 1] ?? '')
      else if (word.startsWith('--exec=')) run(word.slice('--exec='.length))
    }
  } else if (subcommand === 'filter-branch') {
    for (const [index, word] of args.entries()) {
      if (/^--\w+-filter$/.test(word)) run(args[index + 1] ?? '')
    }
  }
}
