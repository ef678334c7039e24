import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { whenAborted } from '../../protocol/deferred.ts'
import type { HostAddress } from '../../protocol/request/host-address.ts'
import { makeTemporaryFolder, removeTemporaryFolder } from '../../system/temporary-folder.ts'
import { createSlurmClient } from '../slurm/client.ts'
import {
  type ClientEnvironment,
  findClient,
  type HostClient,
  lastLine,
  startClient,
  unreachable,
} from './client.ts'
import { composeBootstrap, composeBootstrapWords } from './script.ts'

/** Makes the client of a host. */
export function createHostClient(address: HostAddress, environment: ClientEnvironment): HostClient {
  switch (address.kind) {
    case 'ssh':
      return createSshClient(address, environment)
    case 'slurm':
      return createSlurmClient(address, environment)
    case 'docker':
    case 'podman':
      return createExecClient(address.kind, [address.container], environment)
    case 'kubectl': {
      const { namespace, pod, container } = address
      const inNamespace = namespace === null ? [] : ['-n', namespace]
      const inContainer = container === null ? [] : ['-c', container]
      return createExecClient('kubectl', [...inNamespace, pod, ...inContainer, '--'], environment)
    }
  }
}

/** A client with a subcommand `exec`; each call of it is a connection of its own. */
function createExecClient(
  name: string,
  target: readonly string[],
  environment: ClientEnvironment,
): HostClient {
  return {
    connect: async () => undefined,
    compose: (script, terminal) => ({
      file: findClient(name, environment),
      args: ['exec', terminal ? '-it' : '-i', ...target, ...composeBootstrapWords(script)],
    }),
    scheduler: null,
    sendsVariables: false,
    close: async () => undefined,
  }
}

/** How long a connection may take to be made, and to be missed when it is silent. */
const seconds = { connect: 10, alive: 5, aliveTimes: 3 }

interface Master {
  child: ChildProcess
  /** Rejects with `StartError`. */
  ready: Promise<void>
}

/**
 * One connection for all runs of one host (ssh_config(5), ControlMaster). It lives as long as a
 * `cat` over there is fed by this process, so that it ends with nacre, however nacre ends.
 */
function createSshClient(
  { destination, port }: HostAddress & { kind: 'ssh' },
  environment: ClientEnvironment,
): HostClient {
  let folder: string | null = null
  let master: Master | null = null

  function words(): string[] {
    // A socket's path is short (unix(7): 108 bytes), so that it lies among temporary files.
    folder ??= makeTemporaryFolder('ssh')
    return [
      ...['-S', join(folder, 's'), '-o', 'BatchMode=yes', '-o', 'LogLevel=ERROR'],
      ...['-o', `ConnectTimeout=${seconds.connect}`],
      ...['-o', `ServerAliveInterval=${seconds.alive}`],
      ...['-o', `ServerAliveCountMax=${seconds.aliveTimes}`],
      ...(port === null ? [] : ['-p', String(port)]),
    ]
  }

  function open(): Master {
    const token = randomUUID()
    const args = [...words(), '-M', '-T', '--', destination, 'cat']
    const child = startClient(findClient('ssh', environment), args, environment)
    const ready = new Promise<void>((resolve, reject) => {
      let echoed = ''
      let complained = ''
      child.stdout.setEncoding('latin1').on('data', (text: string) => {
        echoed = (echoed + text).slice(-4096)
        if (echoed.includes(token)) resolve()
      })
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        complained = (complained + text).slice(-4096)
      })
      child.once('error', (error) => reject(unreachable(destination, error.message)))
      child.once('close', () => {
        if (master?.child === child) master = null
        reject(unreachable(destination, lastLine(complained)))
      })
    })
    child.stdin.on('error', () => undefined)
    child.stdin.write(`${token}\n`)
    return { child, ready }
  }

  return {
    async connect(signal) {
      master ??= open()
      // A login may take as long as the start files over there.
      const tooLate = whenAborted(signal).then(() => {
        throw unreachable(destination, 'its login has not ended')
      })
      await Promise.race([master.ready, tooLate])
    },
    compose: (script, terminal) => ({
      file: findClient('ssh', environment),
      args: [
        ...words(),
        ...['-o', 'ControlMaster=no', terminal ? '-tt' : '-T', '--', destination],
        composeBootstrap(script),
      ],
    }),
    scheduler: null,
    sendsVariables: true,
    async close() {
      const child = master?.child
      if (child && child.exitCode === null && child.signalCode === null) {
        const ended = new Promise((resolve) => child.once('exit', resolve))
        child.kill('SIGKILL')
        await ended
        // What the client has started (ProxyCommand) may hold its error output.
        child.stdout?.destroy()
        child.stderr?.destroy()
      }
      if (folder !== null) removeTemporaryFolder(folder)
      folder = null
    },
  }
}
