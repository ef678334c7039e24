import { readOptions } from '../shell/options.ts'
import type { Text } from '../shell/text.ts'
import { criticalTarget } from './places.ts'
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
    }
    return doubt
  },
}

/** What the command removes recursively; null: nothing. */
function removed({ name, args }: SeenCommand): { paths: readonly Text[]; certain: boolean } | null {
  if (alwaysRecursive.has(name)) {
    return { paths: args.filter((word) => !word.startsWith('-')), certain: true }
  }
  if (name !== 'rm') return null
  const options = readOptions(args, {
    longFlags:
      'recursive force interactive one-file-system no-preserve-root preserve-root dir verbose',
  })
  const { flags, operands } = options
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
