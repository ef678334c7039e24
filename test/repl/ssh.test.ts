import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { withScreen } from '../helpers/screen.ts'

const sshd = '/usr/sbin/sshd'
const secret = 'correct-horse-battery'

interface Server {
  folder: string
  port: number
  close(): Promise<void>
}

/**
 * A server of this test's own, at its own port, which lets in whoever knows the secret of the key. A
 * sshd that root starts wants a folder below /run; it gets one in a mount namespace of its own.
 */
async function startServer(): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'nacre-ssh-'))
  const port = await findFreePort()
  const makeKey = (name: string, phrase: string) =>
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', phrase, '-f', join(folder, name)])
  makeKey('host', '')
  makeKey('user', secret)
  writeFileSync(join(folder, 'authorized'), readFileSync(join(folder, 'user.pub')))
  const settings = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${folder}/host`,
    `PidFile none`,
    `AuthorizedKeysFile ${folder}/authorized`,
    'StrictModes no',
    'UsePAM no',
    'PermitRootLogin yes',
  ]
  writeFileSync(join(folder, 'config'), `${settings.join('\n')}\n`)
  const command = `exec ${sshd} -D -e -f ${folder}/config`
  const server =
    userInfo().uid === 0 && !existsSync('/run/sshd')
      ? spawn('unshare', [
          '-m',
          'sh',
          '-c',
          `mount -t tmpfs tmpfs /run && mkdir /run/sshd && ${command}`,
        ])
      : spawn('sh', ['-c', command])
  const close = async () => {
    if (server.exitCode === null && server.signalCode === null) {
      server.kill()
      await once(server, 'exit')
    }
    rmSync(folder, { recursive: true })
  }
  try {
    await listening(server)
  } catch (error) {
    await close()
    throw error
  }
  return { folder, port, close }
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

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  return typeof address === 'object' && address ? address.port : 0
}

function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text))
}

const name = 'ssh asks for its secret, which nothing shows or keeps, and opens a shell'
if (!existsSync(sshd)) console.log(`SKIP ${name}: sshd is not installed`)
else {
  test(name, async () => {
    let server: Server
    try {
      server = await startServer()
    } catch (error) {
      console.log(`SKIP ${name}: ${String(error)}`)
      return
    }
    try {
      await withScreen({}, async (screen) => {
        const options =
          `-F none -p ${server.port} -i ${server.folder}/user -o IdentitiesOnly=yes ` +
          `-o UserKnownHostsFile=${server.folder}/known`
        await screen.shows('> ')
        screen.type(`!ssh ${options} ${userInfo().username}@127.0.0.1 'echo inside; tty'\r`)
        await screen.shows('continue connecting')
        screen.type('yes\r')
        await screen.shows('Enter passphrase')
        await screen.shows('password: neither shown nor kept')
        screen.type(`${secret}\r`)
        await screen.shows('✗ exit 1')
        assert.match(screen.text(), 'inside')
        assert.not.match(screen.raw(), secret)
        assert.equal(filesWith(screen.home, secret), [])
      })
    } finally {
      await server.close()
    }
  })
}

test.run()
