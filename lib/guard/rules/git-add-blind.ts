import { readOptions } from '../shell/options.ts'
import { readGit } from './git.ts'
import { absoluteNames, pathNames, Text } from '../shell/text.ts'
import type { Places, Rule } from './rule.ts'

const style = {
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
  examples: {
    match: [
      'git add .',
      'git add -A',
      'git add --all',
      'git add -A src',
      'git add ./*',
      "git add ':/'",
      'git -C sub add -v .',
    ],
    pass: ['git add src/a.ts', 'git add -u', "git add '*.md'", 'git add .gitignore', 'git add -p'],
  },
  check({ name, args, places, read }) {
    const call = readGit(name, args)
    if (!call || (call.subcommand !== 'add' && call.subcommand !== 'stage')) return null
    const options = readOptions(call.args, style)
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
    const within = call.folders.reduce(
      (directories, folder) =>
        directories.map((d) => (folder.startsWith('/') ? folder : Text.join([d, '/', folder]))),
      places.directories,
    )
    const list = options.valueOf('pathspec-from-file')
    const listed = list && read(list)
    if (list && !listed) {
      return { does: `stages whatever "${list.chars}" lists`, certain: false }
    }
    const paths = [
      ...operands,
      ...(listed?.split(/[\n\0]/) ?? []).filter(({ length }) => length > 0),
    ]
    const blind = paths.find((word) => isEverything(word, { ...places, directories: within }))
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
function isWide(part: Text): boolean {
  if (part.test(/^[./]*$/)) return true
  const active = part.activated().split('/')
  return active.every((piece) => ['src', 'README.md', 'a'].every((name) => piece.matches(name)))
}
