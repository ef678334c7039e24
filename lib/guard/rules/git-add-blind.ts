import { readOptions } from '../shell/options.ts'
import { activateGlobs, isKnown, matchesGlob } from '../shell/marked-text.ts'
import { readGit } from './git.ts'
import { absoluteNames, pathNames } from '../shell/path.ts'
import type { Places, Rule } from './rule.ts'

const style = {
  longValues: ['chmod', 'pathspec-from-file'],
  longFlags: [
    'all',
    'no-all',
    'ignore-removal',
    'no-ignore-removal',
    'update',
    'dry-run',
    'verbose',
    'force',
    'interactive',
    'patch',
    'edit',
    'intent-to-add',
    'refresh',
    'ignore-errors',
    'ignore-missing',
    'sparse',
    'renormalize',
    'pathspec-file-nul',
  ],
}
const addsNothingBlindly = new Set([
  'n',
  'dry-run',
  'p',
  'patch',
  'i',
  'interactive',
  'e',
  'edit',
  'refresh',
  'help',
  'h',
])
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
  check({ name, args, places }) {
    const call = readGit(name, args)
    if (!call || (call.subcommand !== 'add' && call.subcommand !== 'stage')) return null
    const { flags, operands } = readOptions(call.args, style)
    if (flags.some((flag) => addsNothingBlindly.has(flag))) return null
    const flag = flags.find((name) => addsAll.has(name))
    if (flag !== undefined) {
      const spelled = `${flag.length > 1 ? '--' : '-'}${flag}`
      const does = operands.length === 0 ? 'stages everything' : 'stages all that it comes upon'
      return { does: `${does} (${spelled})`, certain: true }
    }
    // Only what is tracked already.
    if (flags.includes('u') || flags.includes('update')) return null
    const within = call.folders.reduce(
      (directories, folder) =>
        directories.map((d) => (folder.startsWith('/') ? folder : `${d}/${folder}`)),
      places.directories,
    )
    const blind = operands.find((word) => isEverything(word, { ...places, directories: within }))
    if (blind === undefined) return null
    return { does: 'stages everything, whatever it is', certain: true }
  },
}

function isEverything(pathspec: string, places: Places): boolean {
  const [, long, short, rest = ''] = /^:(?:\(([^)]*)\)|([/!^]+)|)(.*)$/s.exec(pathspec) ?? []
  const isMagic = pathspec.startsWith(':')
  if (isMagic) {
    const excludes = /[!^]/.test(short ?? '') || (long ?? '').includes('exclude')
    // Only what to leave out: everything else is added.
    if (excludes) return true
    const fromTop = (short ?? '').includes('/') || (long ?? '').includes('top')
    if (fromTop) return rest === '' || isWide(rest)
    return rest === '' || isEverything(rest, places)
  }
  if (!isKnown(pathspec)) return false
  return places.directories.some((directory) => {
    const parts = absoluteNames(pathspec, directory)
    const here = pathNames(directory)
    let folder = parts
    while (folder.length > 0 && isWide(folder.at(-1) ?? '')) folder = folder.slice(0, -1)
    return folder.length <= here.length && folder.every((part, index) => part === here[index])
  })
}

/** git expands `*` in a pathspec by itself, also a quoted one. */
function isWide(part: string): boolean {
  const active = activateGlobs(part.replaceAll('**', '*'))
  if (/^[./]*$/.test(part)) return true
  return active
    .split('/')
    .every((piece) => ['src', 'README.md', 'a'].every((name) => matchesGlob(piece, name)))
}
