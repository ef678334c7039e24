import { readOptions } from '../shell/options.ts'
import { isKnown, withUnknownEmpty } from '../shell/marked-text.ts'
import { readGit } from './git.ts'
import type { Rule } from './rule.ts'

const style = {
  shortValues: 'o',
  longValues: ['repo', 'receive-pack', 'exec', 'push-option'],
  longFlags: [
    'all',
    'branches',
    'mirror',
    'tags',
    'follow-tags',
    'atomic',
    'dry-run',
    'force',
    'force-with-lease',
    'force-if-includes',
    'delete',
    'prune',
    'quiet',
    'verbose',
    'set-upstream',
    'no-verify',
    'verify',
    'progress',
    'thin',
    'no-thin',
    'signed',
    'porcelain',
    'ipv4',
    'ipv6',
    'recurse-submodules',
  ],
}

export const gitPushForce: Rule = {
  name: 'git-push-force',
  decision: 'deny',
  instead: 'Use `git push --force-with-lease`, or push without force.',
  holdsFor: 'agents',
  examples: {
    match: [
      'git push -f',
      'git push origin +main',
      'git -C sub push --mirror',
      'git push -uf origin x',
    ],
    pass: [
      'git push',
      'git push --force-with-lease',
      'git push -u origin feature',
      'git commit -m "push -f"',
    ],
  },
  check({ name, args }) {
    const call = readGit(name, args)
    if (!call || (call.subcommand !== 'push' && call.subcommand !== 'send-pack')) return null
    const { flags, operands } = readOptions(call.args, style)
    if (flags.includes('n') || flags.includes('dry-run')) return null
    const forced = flags.findLast((flag) => flag === 'f' || flag === 'force' || flag === 'no-force')
    if (forced && forced !== 'no-force')
      return { does: 'overwrites the remote history by force', certain: true }
    if (flags.some((flag) => !isKnown(flag) && withUnknownEmpty(flag) === 'force')) {
      return { does: 'may overwrite the remote history by force', certain: false }
    }
    if (flags.includes('mirror') && flags.lastIndexOf('mirror') > flags.lastIndexOf('no-mirror')) {
      return { does: 'makes the remote a mirror, deleting what is not here', certain: true }
    }
    const refspec = operands.find((word) => word.startsWith('+'))
    if (refspec)
      return { does: `overwrites the remote history by the refspec "${refspec}"`, certain: true }
    const setting = call.settings.find((text) =>
      /^remote\..*\.(?:mirror=(?:true|1|yes|on)$|push=\+)/i.test(text),
    )
    return setting
      ? { does: `overwrites the remote history by the setting "${setting}"`, certain: true }
      : null
  },
}
