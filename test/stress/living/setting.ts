import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '../../../lib/system/look.ts'
import { cliCommand } from '../../helpers/cli.ts'
import { type ShellName, writeStartFile } from '../../helpers/own-shell.ts'
import type { ScreenOptions } from '../../helpers/screen.ts'
import type { Server } from '../../helpers/ssh-host.ts'
import { told } from './checks.ts'

/** Who lives, and with which start files: another one with each seed. */
export interface Setting {
  startFiles: keyof typeof kinds
  /** An ordinary user, who may do all as root where he knows his secret. */
  isUser: boolean
}

/** Start files as they are found. */
const kinds = {
  none: '',
  broken: 'echo "unfinished\n',
  greets: 'echo welcome\n',
  ends: 'exit 3\n',
  slow: 'sleep 0.5\n',
}
/** What a new shell says of them, which may come at any time. */
const noises: Partial<Record<Setting['startFiles'], RegExp>> = {
  ends: told('Your start files ended the shell (exit 3): this one runs without them'),
}

const nobody = { name: 'nobody', uid: 65534 }
const mayDrop =
  userInfo().uid === 0 &&
  ['unshare', 'setpriv', 'sudo', 'openssl'].every((name) => find(name) !== null)

export const secret = 'geheim'

export function chooseSetting(seed: number): Setting {
  const names = Object.keys(kinds) as Setting['startFiles'][]
  return {
    startFiles: names[seed % names.length] ?? 'none',
    isUser: mayDrop && seed % 2 === 0,
  }
}

export const noiseOf = ({ startFiles }: Setting): RegExp | null => noises[startFiles] ?? null

/** `program` on a terminal, in the home of such a person; `box` is a server of theirs. */
export function settle(
  shell: ShellName,
  { startFiles, isUser }: Setting,
  { box, program = cliCommand() }: { box: Server | null; program?: string[] },
): ScreenOptions {
  return {
    columns: 80,
    rows: 24,
    scrollback: 100_000,
    env: { SHELL: find(shell) ?? '', npm_config_update_notifier: 'false' },
    program: isUser ? ['unshare', '-m', 'sh', '-c', becomeUser, 'sh', ...program] : program,
    prepare(home) {
      for (const folder of ['code/sub', 'code/with space']) {
        mkdirSync(join(home, folder), { recursive: true })
      }
      writeStartFile(home, shell, kinds[startFiles])
      if (box) writeClient(home, box)
      if (isUser) giveAway(home)
    },
  }
}

/** In a mount namespace of its own the user has a secret, and may do all with it. */
const becomeUser = `mount --bind ../sudo/shadow /etc/shadow &&
mount --bind ../sudo/sudoers /etc/sudoers &&
exec setpriv --reuid=${nobody.uid} --regid=${nobody.uid} --clear-groups "$@"`

function giveAway(home: string): void {
  for (const name of ['', ...readdirSync(home, { recursive: true, encoding: 'utf8' })]) {
    chownSync(join(home, name), nobody.uid, nobody.uid)
  }
  const folder = join(home, 'sudo')
  mkdirSync(folder)
  const hash = execFileSync('openssl', ['passwd', '-6', secret], { encoding: 'utf8' }).trim()
  const days = ':19000:0:99999:7:::'
  writeFileSync(join(folder, 'shadow'), `root:*${days}\n${nobody.name}:${hash}${days}\n`)
  writeFileSync(join(folder, 'sudoers'), `${nobody.name} ALL=(ALL) ALL\n`)
  chmodSync(join(folder, 'shadow'), 0o640)
  chmodSync(join(folder, 'sudoers'), 0o440)
}

/** What `ssh -F ~/client box` needs. */
function writeClient(home: string, box: Server): void {
  copyFileSync(join(box.folder, 'user'), join(home, 'key'))
  chmodSync(join(home, 'key'), 0o600)
  const lines = [
    'Host box',
    `HostName ${box.address}`,
    `Port ${box.port}`,
    `User ${userInfo().username}`,
    `IdentityFile ${join(home, 'key')}`,
    'IdentitiesOnly yes',
    'StrictHostKeyChecking no',
    'UserKnownHostsFile /dev/null',
    'LogLevel ERROR',
  ]
  writeFileSync(join(home, 'client'), `${lines.join('\n')}\n`)
}

function find(name: string): string | null {
  return findProgram(name, process.env['PATH'] ?? '')
}
