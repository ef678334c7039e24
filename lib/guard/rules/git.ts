import { empty, type Text } from '../shell/text.ts'

/** A call of git, its own options taken off. */
export interface GitCall {
  readonly subcommand: string
  readonly args: readonly Text[]
  /** `-c key=value`, in order. */
  readonly settings: readonly Text[]
  /** `-C`, in order. */
  readonly folders: readonly Text[]
}

/** Takes the options before the subcommand off; null: no git, or no subcommand. */
export function readGit(name: string, args: readonly Text[]): GitCall | null {
  const [, dashed] = /^git-([a-z-]+)$/.exec(name) ?? []
  if (dashed) return { subcommand: dashed, args, settings: [], folders: [] }
  if (name !== 'git' && name !== 'hub') return null
  const settings: Text[] = []
  const folders: Text[] = []
  let index = 0
  for (; index < args.length; index++) {
    const word = args[index]?.chars ?? ''
    if (word === '-c' || word === '--config-env') settings.push(args[++index] ?? empty)
    else if (word === '-C') folders.push(args[++index] ?? empty)
    else if (/^--(?:git-dir|work-tree|namespace|super-prefix|exec-path|attr-source)$/.test(word)) {
      index++
    } else if (!word.startsWith('-')) break
  }
  const subcommand = args[index]?.chars
  if (subcommand === undefined) return null
  return { subcommand, args: args.slice(index + 1), settings, folders }
}

/** The alias that `-c alias.<name>=…` gives a subcommand: shell text after `!`, else git's own. */
export function gitAlias({ subcommand, settings }: GitCall): Text | null {
  const prefix = `alias.${subcommand}=`.toLowerCase()
  const found = settings.findLast((setting) => setting.chars.toLowerCase().startsWith(prefix))
  return found?.slice(prefix.length) ?? null
}
