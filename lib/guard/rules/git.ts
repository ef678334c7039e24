export interface GitCall {
  readonly subcommand: string
  readonly args: readonly string[]
  /** `-c key=value`, in order. */
  readonly settings: readonly string[]
  /** `-C`, in order. */
  readonly folders: readonly string[]
}

/** Takes the options before the subcommand off; null: no git, or no subcommand. */
export function readGit(name: string, args: readonly string[]): GitCall | null {
  const [, dashed] = /^git-([a-z-]+)$/.exec(name) ?? []
  if (dashed) return { subcommand: dashed, args, settings: [], folders: [] }
  if (name !== 'git' && name !== 'hub') return null
  const settings: string[] = []
  const folders: string[] = []
  let index = 0
  for (; index < args.length; index++) {
    const word = args[index] ?? ''
    if (word === '-c' || word === '--config-env') settings.push(args[++index] ?? '')
    else if (word === '-C') folders.push(args[++index] ?? '')
    else if (/^--(?:git-dir|work-tree|namespace|super-prefix|exec-path|attr-source)$/.test(word))
      index++
    else if (!word.startsWith('-')) break
  }
  const subcommand = args[index]
  return subcommand === undefined
    ? null
    : { subcommand, args: args.slice(index + 1), settings, folders }
}

/** The alias that `-c alias.<name>=…` gives a subcommand: shell text after `!`, else git's own. */
export function inlineAlias({ subcommand, settings }: GitCall): string | null {
  const prefix = `alias.${subcommand}=`.toLowerCase()
  const found = settings.findLast((setting) => setting.toLowerCase().startsWith(prefix))
  return found === undefined ? null : found.slice(prefix.length)
}
