import { execFile } from 'node:child_process'
import { codeOf, messageOf } from '../../protocol/errors.ts'
import { createSandboxFilter } from './sandbox-filter.ts'
import { isScarce } from '../start-failure.ts'
import { findProgram, lookIntoFile } from '../../system/look.ts'

/** What the sandbox of this machine can do. */
export interface SandboxProbe {
  /** Absolute path of bwrap, if there is one. */
  path: string | null
  /** Null: it works. Else what is missing and what to do, in one sentence. */
  problem: string | null
  /** The same for `--network off`. */
  networkProblem: string | null
}

/** Where bwrap is looked for: nowhere that a project could put a program of that name. */
const systemPath =
  '/usr/bin:/bin:/usr/local/bin:/run/wrappers/bin:/run/current-system/sw/bin:/nix/var/nix/profiles/default/bin'

/** What separates a run from the rest of the machine, beside its view of the files. */
export const isolation: readonly string[] = [
  ...['--unshare-user-try', '--unshare-pid', '--unshare-ipc', '--unshare-uts'],
  ...['--unshare-cgroup-try', '--cap-drop', 'ALL'],
]

export const withoutNetwork = '--unshare-net'

/** Tries the sandbox for real; takes some milliseconds. */
export async function probeSandbox(path = findProgram('bwrap', systemPath)): Promise<SandboxProbe> {
  const fail = (problem: string): SandboxProbe => ({ path, problem, networkProblem: problem })
  if (process.platform !== 'linux') {
    return fail(`The sandbox is made by bubblewrap, which only Linux has, not ${process.platform}`)
  }
  if (path === null) {
    return fail('The sandbox needs bwrap: install the package bubblewrap')
  }
  if (createSandboxFilter(process.arch) === null) {
    return fail(`The sandbox knows the system calls of x64 and arm64, not of ${process.arch}`)
  }
  const networkProblem = await tryOut(path, [...isolation, withoutNetwork])
  const problem = networkProblem === null ? null : await tryOut(path, isolation)
  return { path, problem, networkProblem }
}

/** Gives null if it worked, else why it did not. */
function tryOut(path: string, flags: readonly string[]): Promise<string | null> {
  const view = ['--ro-bind', '/', '/', '--ro-bind-fd', '3', '/usr', '--dev', '/dev']
  const own = ['--proc', '/proc', '--perms', '1777', '--tmpfs', '/tmp']
  const script = ['-c', 'exec "$0" "$@" 3</usr', path]
  const words = [...script, ...flags, ...view, ...own, '--', path, '--version']
  return new Promise((settle, refuse) => {
    const options = { env: { LC_ALL: 'C' }, timeout: 10_000 }
    execFile('/bin/sh', words, options, (error, _stdout, stderr) => {
      // Such a run waits for its turn, and asks again then.
      if (error !== null && isScarce(codeOf(error))) refuse(error)
      else settle(error === null ? null : explainFailure(stderr.trim(), error))
    })
  })
}

/** What bwrap says when it cannot do its work, with the cause and the cure if they are known. */
export function explainFailure(text: string, error: unknown): string {
  const said = text.split('\n').find((line) => line.startsWith('bwrap: '))
  if (said === undefined) {
    return `The sandbox does not work: bwrap cannot be run (${codeOf(error) ?? messageOf(error)})`
  }
  const cause = causes.find(([pattern]) => pattern.test(said))?.[1]
  return cause ? `${cause()} (${said})` : `The sandbox does not work: ${said}`
}

const restrictedByAppArmor = '/proc/sys/kernel/apparmor_restrict_unprivileged_userns'

const causes: readonly [said: RegExp, cause: () => string][] = [
  [
    /Unknown option/,
    () =>
      'The sandbox needs a newer bubblewrap: 0.10 or later, or an older one into which your distribution has brought --bind-fd',
  ],
  [
    /No permissions to creat\w+ (a )?new namespace/i,
    () =>
      'The sandbox needs user namespaces, which are off: as root, sysctl -w user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1',
  ],
  [
    /setting up uid map|Can't mount proc|Creating new namespace failed|RTM_NEWADDR/i,
    () =>
      lookIntoFile(restrictedByAppArmor)?.trim() === '1'
        ? 'The sandbox needs user namespaces, which AppArmor denies here: allow them for bwrap in a profile, or as root, sysctl -w kernel.apparmor_restrict_unprivileged_userns=0'
        : 'The sandbox cannot be made here: this is already inside a sandbox or a container without the right to namespaces',
  ],
]
