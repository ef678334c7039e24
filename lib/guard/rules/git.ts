import { readOptions } from '../shell/options.ts'
import { absoluteNames, empty, fitsEveryName, pathNames, type Text } from '../shell/text.ts'
import type { Rule, Places } from './rule.ts'

/** A call of git, its own options taken off. */
export interface GitCall {
  readonly subcommand: string
  readonly args: readonly Text[]
  /** `-c key=value`, in order. */
  readonly settings: readonly Text[]
}

/** Takes the options before the subcommand off; null: no git, or no subcommand. */
export function readGit(name: string, args: readonly Text[]): GitCall | null {
  const [, dashed] = /^git-([a-z-]+)$/.exec(name) ?? []
  if (dashed) return { subcommand: dashed, args, settings: [] }
  if (name !== 'git' && name !== 'hub') return null
  const settings: Text[] = []
  let index = 0
  for (; index < args.length; index++) {
    const word = args[index]?.chars ?? ''
    if (word === '-c' || word === '--config-env') settings.push(args[++index] ?? empty)
    else if (
      /^(?:-C|--(?:git-dir|work-tree|namespace|super-prefix|exec-path|attr-source))$/.test(word)
    ) {
      index++
    } else if (!word.startsWith('-')) break
  }
  const subcommand = args[index]?.chars
  if (subcommand === undefined) return null
  return { subcommand, args: args.slice(index + 1), settings }
}

/** The alias that `-c alias.<name>=…` gives a subcommand: shell text after `!`, else git's own. */
export function gitAlias({ subcommand, settings }: GitCall): Text | null {
  const prefix = `alias.${subcommand}=`.toLowerCase()
  const found = settings.findLast((setting) => setting.chars.toLowerCase().startsWith(prefix))
  return found?.slice(prefix.length) ?? null
}

const pushStyle = {
  shortValues: 'o',
  longValues: 'repo receive-pack exec push-option',
  longFlags: `all branches mirror tags follow-tags atomic dry-run force force-with-lease
    force-if-includes delete prune quiet verbose set-upstream no-verify verify progress thin no-thin
    signed porcelain ipv4 ipv6 recurse-submodules`,
}

export const gitPushForce: Rule = {
  name: 'git-push-force',
  decision: 'deny',
  instead: 'Use `git push --force-with-lease`, or push without force.',
  holdsFor: 'agents',
  check({ name, args }) {
    const call = readGit(name, args)
    if (!call || (call.subcommand !== 'push' && call.subcommand !== 'send-pack')) return null
    const options = readOptions(call.args, pushStyle)
    const { flags, operands } = options
    if (options.has('n', 'dry-run')) return null
    const forced = flags.findLast((flag) => flag === 'f' || flag === 'force' || flag === 'no-force')
    if (forced && forced !== 'no-force')
      return { does: 'overwrites the remote history by force', certain: true }
    if (options.unknownFlags.some((flag) => flag.withUnknownEmpty().is('force'))) {
      return { does: 'may overwrite the remote history by force', certain: false }
    }
    if (flags.includes('mirror') && flags.lastIndexOf('mirror') > flags.lastIndexOf('no-mirror')) {
      return { does: 'makes the remote a mirror, deleting what is not here', certain: true }
    }
    const refspec = operands.find((word) => word.startsWith('+'))
    return refspec
      ? { does: `overwrites the remote history by the refspec "${refspec.chars}"`, certain: true }
      : null
  },
}

const addStyle = {
  longValues: 'chmod pathspec-from-file',
  longFlags: `all no-all ignore-removal no-ignore-removal update dry-run verbose force interactive
    patch edit intent-to-add refresh ignore-errors ignore-missing sparse renormalize
    pathspec-file-nul`,
}
const addsNothingBlindly = new Set(
  'n dry-run p patch i interactive e edit refresh help h'.split(' '),
)
const addsAll = new Set(['A', 'all', 'no-ignore-removal'])

export const gitAddBlind: Rule = {
  name: 'git-add-blind',
  decision: 'deny',
  instead: 'Name the files: `git add <path>…`, or `git add -u` for what is tracked already.',
  holdsFor: 'agents',
  check({ name, args, places }) {
    const call = readGit(name, args)
    if (!call || (call.subcommand !== 'add' && call.subcommand !== 'stage')) return null
    const options = readOptions(call.args, addStyle)
    const { flags, operands } = options
    if (flags.some((flag) => addsNothingBlindly.has(flag))) return null
    const flag = flags.find((name) => addsAll.has(name))
    if (flag !== undefined) {
      const spelled = `${flag.length > 1 ? '--' : '-'}${flag}`
      const does = operands.length === 0 ? 'stages everything' : 'stages all that it comes upon'
      return { does: `${does} (${spelled})`, certain: true }
    }
    // Only what is tracked already.
    if (options.has('u', 'update')) return null
    const blind = operands.find((word) => isEverything(word, places))
    if (blind === undefined) return null
    return { does: 'stages everything, whatever it is', certain: true }
  },
}

function isEverything(pathspec: Text, places: Places): boolean {
  const [magic] = /^:(?:\([^)]*\)|[/!^]+|)/.exec(pathspec.chars) ?? []
  if (magic !== undefined) {
    const rest = pathspec.slice(magic.length)
    // Only what to leave out: everything else is added.
    if (/^:(?:[/!^]*[!^]|\(.*exclude)/.test(magic)) return true
    const fromTop = /^:(?:.*\/|\(.*top)/.test(magic)
    if (fromTop) return rest.length === 0 || isWide(rest)
    return rest.length === 0 || isEverything(rest, places)
  }
  if (!pathspec.isKnown) return false
  return places.directories.some((directory) => {
    const here = pathNames(directory)
    let folder = absoluteNames(pathspec, directory)
    for (let last = folder.at(-1); last && isWide(last); last = folder.at(-1)) {
      folder = folder.slice(0, -1)
    }
    // `.*`: all hidden names, whatever they are.
    const last = folder.at(-1)
    if (last?.isGlob && last.test(/^\.[*?]+$/)) folder = folder.slice(0, -1)
    return (
      folder.length <= here.length && folder.every((part, at) => part.chars === here[at]?.chars)
    )
  })
}

/** git expands `*` in a pathspec by itself, also a quoted one. */
const isWide = (part: Text): boolean =>
  part.test(/^[./]*$/) || part.activated().split(/\//).every(fitsEveryName)
