import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { StartError } from '../../protocol/ports.ts'
import { findProgram } from '../../system/programs.ts'
import { makeTemporaryFolder } from '../../system/temporary-folder.ts'
import type { HostAddress } from './address.ts'
import { composeBootstrap, composeBootstrapWords } from './script.ts'

/** The system's own client of a host: its configuration, keys and policies hold. */
export interface HostClient {
  /**
   * Makes sure that the host answers, where its client keeps a connection open. Rejects with
   * `StartError`.
   */
  connect(): Promise<void>
  /** The program and its words that run a script there. */
  compose(script: string, terminal: boolean): { file: string; args: string[] }
  close(): Promise<void>
}

/** `environment`: that of nacre, where the client finds its configuration. */
export function createHostClient(
  address: HostAddress,
  environment: Readonly<Record<string, string | undefined>>,
): HostClient {
  const find = () => findClient(address.kind, environment['PATH'] ?? '/usr/bin:/bin')
  switch (address.kind) {
    case 'ssh':
      return createSshClient(address, find, environment)
    case 'docker':
    case 'podman':
      return createPlainClient((script, terminal) => ({
        file: find(),
        args: [
          'exec',
          terminal ? '-it' : '-i',
          address.container,
          ...composeBootstrapWords(script),
        ],
      }))
    case 'kubectl':
      return createPlainClient((script, terminal) => ({
        file: find(),
        args: [
          'exec',
          terminal ? '-it' : '-i',
          ...(address.namespace === null ? [] : ['-n', address.namespace]),
          address.pod,
          ...(address.container === null ? [] : ['-c', address.container]),
          '--',
          ...composeBootstrapWords(script),
        ],
      }))
  }
}

const packages: Readonly<Record<HostAddress['kind'], string>> = {
  ssh: 'openssh-client',
  docker: 'docker',
  podman: 'podman',
  kubectl: 'kubectl',
}

function findClient(name: HostAddress['kind'], path: string): string {
  const found = findProgram(name, path)
  if (found !== null) return found
  const message = `${name} is not on the PATH: install ${packages[name]} to reach such hosts`
  throw new StartError({ code: 'host_client_missing', message, exitCode: 125 })
}

/** Each call of these clients is a connection of its own. */
function createPlainClient(compose: HostClient['compose']): HostClient {
  return { connect: async () => undefined, compose, close: async () => undefined }
}

/** How long a connection may take to be made, and to be missed when it is silent. */
const seconds = { connect: 10, alive: 5, aliveTimes: 3 }

/**
 * One connection for all runs of one host (ssh_config(5), ControlMaster). It lives as long as a
 * `cat` over there is fed by this process, so that it ends with nacre, however nacre ends.
 */
function createSshClient(
  { destination, port }: HostAddress & { kind: 'ssh' },
  find: () => string,
  environment: Readonly<Record<string, string | undefined>>,
): HostClient {
  let folder: string | null = null
  let master: { child: ChildProcess; ready: Promise<void> } | null = null

  function socketPath(): string {
    // A socket's path is short (unix(7): 108 bytes), so that it lies among temporary files.
    folder ??= makeTemporaryFolder('ssh')
    return join(folder, 's')
  }

  function words(): string[] {
    return [
      ...['-S', socketPath(), '-o', 'BatchMode=yes', '-o', 'LogLevel=ERROR'],
      ...['-o', `ConnectTimeout=${seconds.connect}`],
      ...['-o', `ServerAliveInterval=${seconds.alive}`],
      ...['-o', `ServerAliveCountMax=${seconds.aliveTimes}`],
      ...(port === null ? [] : ['-p', String(port)]),
    ]
  }

  function open(): { child: ChildProcess; ready: Promise<void> } {
    const file = find()
    const token = randomUUID()
    const child = spawn(file, [...words(), '-M', '-T', '--', destination, 'cat'], {
      env: environment,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    const ready = new Promise<void>((resolve, reject) => {
      let said = ''
      let complained = ''
      child.stdout.on('data', (bytes: Buffer) => {
        said = (said + bytes.toString('latin1')).slice(-4096)
        if (said.includes(token)) resolve()
      })
      child.stderr.on('data', (bytes: Buffer) => {
        complained = (complained + bytes.toString('utf8')).slice(-4096)
      })
      child.stdin.on('error', () => undefined)
      child.once('error', (error) => reject(unreachable(destination, error.message)))
      child.once('close', () => {
        if (master?.child === child) master = null
        reject(unreachable(destination, lastLine(complained)))
      })
      child.stdin.write(`${token}\n`)
    })
    return { child, ready }
  }

  return {
    async connect() {
      master ??= open()
      await master.ready
    },
    compose: (script, terminal) => ({
      file: find(),
      args: [
        ...words(),
        ...['-o', 'ControlMaster=no', terminal ? '-tt' : '-T', '--', destination],
        composeBootstrap(script),
      ],
    }),
    async close() {
      const child = master?.child
      if (child && child.exitCode === null && child.signalCode === null) {
        const ended = new Promise((resolve) => child.once('close', resolve))
        child.stdin?.end()
        child.kill('SIGTERM')
        await ended
      }
      if (folder !== null) rmSync(folder, { recursive: true, force: true })
      folder = null
    },
  }
}

export function unreachable(host: string, why: string): StartError {
  const message = `The host ${host} could not be reached: ${why || 'its client said nothing'}`
  return new StartError({ code: 'host_unreachable', message, exitCode: 125 })
}

export function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1)?.trim() ?? ''
}
