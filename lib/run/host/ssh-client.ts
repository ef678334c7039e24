import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { createDeferred } from '../../protocol/deferred.ts'
import { makeTemporaryFolder } from '../../system/temporary-folder.ts'
import type { HostAddress } from '../../protocol/request/host-address.ts'
import { type HostClient, lastLine, unreachable } from './client.ts'
import { composeBootstrap } from './script.ts'

/** How long a connection may take to be made, and to be missed when it is silent. */
const seconds = { connect: 10, alive: 5, aliveTimes: 3 }
/** How long the client may take to end. */
const closingMs = 2000

/**
 * One connection for all runs of one host (ssh_config(5), ControlMaster). It lives as long as a
 * `cat` over there is fed by this process, so that it ends with nacre, however nacre ends.
 */
export function createSshClient(
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
    async connect(signal) {
      master ??= open()
      // A login may take as long as the start files over there.
      const { promise: late, resolve: giveUp } = createDeferred<'late'>()
      const onAbort = () => giveUp('late')
      if (signal.aborted) onAbort()
      signal.addEventListener('abort', onAbort)
      try {
        const first = await Promise.race([master.ready, late])
        if (first === 'late') throw unreachable(destination, 'its login has not ended')
      } finally {
        signal.removeEventListener('abort', onAbort)
      }
    },
    compose: (script, terminal) => ({
      file: find(),
      args: [
        ...words(),
        ...['-o', 'ControlMaster=no', terminal ? '-tt' : '-T', '--', destination],
        composeBootstrap(script),
      ],
    }),
    scheduler: null,
    async close() {
      const child = master?.child
      if (child && child.exitCode === null && child.signalCode === null) {
        const ended = new Promise((resolve) => child.once('exit', resolve))
        child.stdin?.end()
        child.kill('SIGTERM')
        const kill = setTimeout(() => child.kill('SIGKILL'), closingMs)
        await ended
        clearTimeout(kill)
        // What the client has started (ProxyCommand) may hold its error output.
        child.stdout?.destroy()
        child.stderr?.destroy()
      }
      if (folder !== null) rmSync(folder, { recursive: true, force: true })
      folder = null
    },
  }
}
