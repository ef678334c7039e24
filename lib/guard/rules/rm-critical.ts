import { readOptions } from '../shell/options.ts'
import { baseName, Text } from '../shell/text.ts'
import { criticalTarget, mayTakeGit } from './places.ts'
import type { Caught, Rule, SeenCommand } from './rule.ts'

/** Programs that remove folders as `rm -r` does, without being asked to. */
const alwaysRecursive = new Set(['rimraf', 'trash', 'trash-put', 'del-cli', 'del', 'srm'])

export const rmCritical: Rule = {
  name: 'rm-critical',
  decision: 'deny',
  instead: 'Remove a named folder inside the project, such as `rm -rf ./dist`.',
  holdsFor: 'everyone',
  examples: {
    match: ['rm -rf /', 'rm -fr ~', 'sudo rm -r --force "$HOME"/', 'find . -delete', 'rm -rf .git'],
    pass: [
      'rm -rf node_modules',
      'rm -f .git/index.lock',
      "rm -rf '*'",
      'find . -name "*.o" -delete',
    ],
  },
  check(command) {
    const targets = removed(command)
    if (!targets) return null
    let doubt: Caught | null = null
    for (const target of targets.paths) {
      const caught = criticalTarget(target, command.places)
      if (caught?.certain && targets.certain) return caught
      if (caught) doubt ??= { ...caught, certain: false }
      else if (mayTakeGit(target, command.places)) {
        doubt ??= { does: `may remove a .git folder, by "${target.chars}"`, certain: false }
      }
    }
    return doubt
  },
}

/** What the command removes recursively; null: nothing. */
function removed({ name, args }: SeenCommand): { paths: readonly Text[]; certain: boolean } | null {
  if (alwaysRecursive.has(name)) {
    return { paths: operandsOf(args), certain: true }
  }
  if (name === 'rsync') return emptiedByRsync(args)
  if (name === 'gio') {
    return args[0]?.is('trash') ? { paths: operandsOf(args.slice(1)), certain: true } : null
  }
  if (name !== 'rm') return null
  const options = readOptions(args, {
    longFlags:
      'recursive force interactive one-file-system no-preserve-root preserve-root dir verbose',
  })
  const { flags, operands } = options
  if (options.unknownFlags.length > 0) return { paths: operands, certain: false }
  // With an option that it does not know, rm does nothing.
  if (flags.some((flag) => flag.length === 1 && !'rRfiIdvxPW'.includes(flag))) return null
  if (options.has('r', 'R', 'recursive')) {
    return { paths: operands, certain: true }
  }
  // An unknown or globbed word in front may turn out to be an option.
  const isDoubtful = operands.some((word) => !word.isKnown && word.beginsWith('*?[uog'))
  const named = operands.filter((word) => word.isKnown && !word.isGlob)
  return isDoubtful ? { paths: named, certain: false } : null
}

const operandsOf = (args: readonly Text[]): Text[] => args.filter((word) => !word.startsWith('-'))

/** `rsync --delete empty/ folder`: what is not in the source is removed from the folder. */
function emptiedByRsync(args: readonly Text[]): ReturnType<typeof removed> {
  const has = (pattern: RegExp): boolean => args.some((word) => word.test(pattern))
  if (has(/^-\w*n|^--dry-run/) || !has(/^--del/)) return null
  const sources = readOptions(args, { shortValues: 'efBMT' }).operands.slice()
  const target = sources.pop()
  // On another machine the folders of this one mean nothing.
  if (!target || target.test(/^[^/]*:/)) return null
  const paths = sources.map((source) =>
    source.test(/(?:^|\/)\.?$/) ? target : Text.join([target, '/', baseName(source)]),
  )
  return { paths, certain: true }
}
