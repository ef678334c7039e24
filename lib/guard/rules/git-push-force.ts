import { readOptions } from '../shell/options.ts'
import { readGit } from './git.ts'
import type { Rule } from './rule.ts'

const style = {
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
    const options = readOptions(call.args, style)
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
    if (refspec)
      return {
        does: `overwrites the remote history by the refspec "${refspec.chars}"`,
        certain: true,
      }
    const setting = call.settings.find((text) =>
      text.test(/^remote\..*\.(?:mirror=(?:true|1|yes|on)$|push=\+)/i),
    )
    return setting
      ? { does: `overwrites the remote history by the setting "${setting.chars}"`, certain: true }
      : null
  },
}
