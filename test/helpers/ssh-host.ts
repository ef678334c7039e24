import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { findFreePorts } from './free-port.ts'
import { hear } from './until.ts'

const sshd = '/usr/sbin/sshd'

/** Why no server can be started here, or null. */
export function findSshObstacle(): string | null {
  return existsSync(sshd) ? null : 'sshd is not installed'
}

/** A server of ssh, and the folder of its files: `user` is the key that it lets in. */
export interface Server {
  folder: string
  address: string
  port: number
  /** Of the process that takes connections. */
  pid: number
  close(): Promise<void>
}

/**
 * A server of this test's own, at its own port, which lets in whoever knows the secret of the key. A
 * sshd that root starts wants a folder below /run; it gets one in a mount namespace of its own.
 */
export async function startServer(
  secret = '',
  more: readonly string[] = [],
  /** Gives the `/etc/passwd` that the server sees; it gets the folder of the server. */
  makeUsers: ((folder: string) => string) | null = null,
  {
    namespace,
    address = '127.0.0.1',
    environment = `TMPDIR=${tmpdir()}`,
  }: { namespace?: string; address?: string; environment?: string } = {},
): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'nacre-ssh-'))
  const [port = 0] = await findFreePorts(1)
  const makeKey = (name: string, phrase: string) =>
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', phrase, '-f', join(folder, name)])
  makeKey('host', '')
  makeKey('user', secret)
  writeFileSync(join(folder, 'authorized'), readFileSync(join(folder, 'user.pub')))
  const settings = [
    `Port ${port}`,
    `ListenAddress ${address}`,
    `HostKey ${folder}/host`,
    `PidFile none`,
    `AuthorizedKeysFile ${folder}/authorized`,
    'StrictModes no',
    'UsePAM no',
    'PermitRootLogin yes',
    // bash then takes itself for an inner shell, and reads no start file of this machine.
    ...(makeUsers ? [] : [`SetEnv SHLVL=1 ${environment}`]),
    ...more,
  ]
  writeFileSync(join(folder, 'config'), `${settings.join('\n')}\n`)
  const steps = [`exec ${sshd} -D -e -f ${folder}/config`]
  if (makeUsers) {
    writeFileSync(join(folder, 'passwd'), makeUsers(folder))
    steps.unshift(`mount --bind ${folder}/passwd /etc/passwd`)
  }
  const needsFolder = userInfo().uid === 0 && !existsSync('/run/sshd')
  if (needsFolder) steps.unshift('mount -t tmpfs tmpfs /run', 'mkdir /run/sshd')
  const words = ['sh', '-c', steps.join(' && ')]
  const isolated = needsFolder || makeUsers ? ['unshare', '-m', ...words] : words
  // The name of a namespace is looked up below /run.
  const [program = 'sh', ...args] =
    namespace === undefined ? isolated : ['ip', 'netns', 'exec', namespace, ...isolated]
  const server = spawn(program, args)
  const close = async () => {
    if (server.exitCode === null && server.signalCode === null) {
      server.kill()
      await hear(server, 'exit')
    }
    rmSync(folder, { recursive: true })
  }
  try {
    await listening(server)
  } catch (error) {
    await close()
    throw error
  }
  return { folder, address, port, pid: server.pid ?? 0, close }
}

function listening(server: ChildProcess): Promise<void> {
  let told = ''
  return new Promise((resolve, reject) => {
    server.stderr?.on('data', (data: Buffer) => {
      told += data.toString()
      if (told.includes('Server listening')) resolve()
    })
    server.on('error', reject)
    server.on('exit', () => reject(new Error(`sshd does not start: ${told.trim()}`)))
  })
}

/** A folder with an `ssh` that knows the host `box`, and others, to be put first on the PATH of a client. */
export function makeClientFolder(
  box: Server,
  others: Readonly<Record<string, Server>> = {},
): string {
  const { folder } = box
  const config = Object.entries({ box, ...others }).flatMap(([name, server]) => [
    `Host ${name}`,
    `HostName ${server.address}`,
    `Port ${server.port}`,
    `User ${userInfo().username}`,
    `IdentityFile ${server.folder}/user`,
    'IdentitiesOnly yes',
    'StrictHostKeyChecking no',
    'UserKnownHostsFile /dev/null',
  ])
  writeFileSync(join(folder, 'client'), `${config.join('\n')}\n`)
  const program = join(folder, 'ssh')
  const path = execFileSync('sh', ['-c', 'command -v ssh'], { encoding: 'utf8' }).trim()
  writeFileSync(program, `#!/bin/sh\nexec ${path} -F ${folder}/client "$@"\n`)
  chmodSync(program, 0o755)
  return folder
}

/** The processes of a server that serve connections; what listens stays. */
function listConnections({ folder }: Server): number[] {
  const listening = readdirSync('/proc').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(join(folder, 'config'))
    } catch {
      return false
    }
  })
  return execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent = '']) => listening.includes(parent))
    .map(([pid]) => Number(pid))
}

/** Kills them, as a server that dies does. */
export function endConnections(server: Server): void {
  for (const pid of listConnections(server)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended since.
    }
  }
}
