import { spawn, type ChildProcess } from 'node:child_process'
import { createServer, type Server } from 'node:net'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { createExecutor, type ExecutorOptions } from '../../lib/executor/executor.ts'
import type { RequestInput } from '../../lib/protocol/request/request.ts'
import type { Result } from '../../lib/protocol/result/result.ts'
import { probeSandbox } from '../../lib/run/sandbox/sandbox-probe.ts'
import { describeProcess, listProcesses } from '../../lib/system/process/process-table.ts'
import { isAlive } from './terminal-run.ts'
import { until } from './until.ts'

/** Folders around a sandbox, not below `/tmp`, which no sandbox shows. */
export interface Places {
  root: string
  home: string
  state: string
  /** Readable from inside, never writable. */
  outside: string
  /** Its name has a space. */
  workspace: string
  /** A process outside. */
  victim: ChildProcess
  run: (
    command: string,
    changes?: Partial<RequestInput>,
    options?: { signal: AbortSignal },
  ) => Promise<Result>
  /** Stops a command when it has made the file `up` in the workspace. */
  stopWhenUp: (command: string) => Promise<Result>
  /** Everything outside that a run could change, as text. */
  observe: () => string
  /** Closes what runs the commands. */
  close: () => Promise<void>
  remove: () => Promise<void>
}

export const secret = 'TOP-SECRET'

export async function openPlaces(
  options: Partial<ExecutorOptions> & {
    changes?: Partial<RequestInput>
    socket?: boolean
  } = {},
): Promise<Places> {
  const root = realpathSync(mkdtempSync('/var/tmp/nacre-places-'))
  const at = (...names: string[]) => join(root, ...names)
  const [home, state, outside, workspace] = [
    at('home'),
    at('state'),
    at('outside'),
    at('work space'),
  ]
  for (const folder of [
    ...['.ssh', '.aws', '.config/gh', '.config/nacre'].map((name) => join(home, name)),
    state,
    join(outside, 'folder'),
    workspace,
  ]) {
    mkdirSync(folder, { recursive: true })
  }
  for (const file of ['.ssh/id', '.aws/credentials', '.config/gh/hosts.yml', '.netrc']) {
    writeFileSync(join(home, file), `${secret}\n`)
  }
  writeFileSync(join(home, '.config/nacre/config.json'), `"${secret}"\n`)
  // Not a folder, so that no process fills it with spare pipes after the end.
  writeFileSync(join(state, 'pipes'), '')
  writeFileSync(join(state, 'history'), `${secret}\n`)
  writeFileSync(join(outside, 'target'), 'untouched\n')
  writeFileSync(join(outside, 'program'), '#!/bin/sh\necho ran\n')
  chmodSync(join(outside, 'program'), 0o755)
  writeFileSync(join(workspace, 'mine'), 'mine\n')
  const server = options.socket ? await listen(join(outside, 'socket')) : null
  const victim = spawn('sleep', ['600'], { stdio: 'ignore' })
  const executor = createExecutor({
    cwd: workspace,
    environment: { ...process.env, HOME: home, npm_config_cache: undefined, GOCACHE: undefined },
    stateDir: state,
    sandbox: { hidden: [join(home, '.config/nacre')] },
    ...options,
  })
  const env = {
    OUT: outside,
    STATE: state,
    WS: workspace,
    ROOT: root,
    VICTIM: String(victim.pid),
    NACRE_PID: String(process.pid),
  }
  const run: Places['run'] = (command, changes, how) =>
    executor.run(
      {
        command,
        origin: 'print',
        sandbox: 'workspace',
        guard: false,
        streams: 'merged',
        ...options.changes,
        ...changes,
        env: { ...env, ...changes?.env },
      },
      how,
    )
  return {
    root,
    home,
    state,
    outside,
    workspace,
    victim,
    run,
    async stopWhenUp(command) {
      const stop = new AbortController()
      const ended = run(command, {}, { signal: stop.signal })
      const up = join(workspace, 'up')
      await until(() => existsSync(up))
      stop.abort()
      const result = await ended
      rmSync(up)
      return result
    },
    observe: () =>
      [outside, home].map(describeTree).join('\n') + `\nvictim ${isAlive(victim.pid ?? 0)}`,
    close: () => executor.close(),
    async remove() {
      await executor.close()
      victim.kill('SIGKILL')
      if (server) await new Promise((resolve) => server.close(resolve))
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** The body of a test with places of its own, which leaves no process. */
export function withPlaces(
  body: (places: Places) => Promise<void>,
  options: Parameters<typeof openPlaces>[0] = {},
): () => Promise<void> {
  return async () => {
    const places = await openPlaces(options)
    try {
      await body(places)
    } finally {
      await places.remove()
    }
    assert.not.ok(listProcesses().some(({ pid }) => describeProcess(pid).includes(places.root)))
  }
}

function listen(path: string): Promise<Server> {
  const server = createServer((socket) => socket.end(`${secret} from a socket\n`))
  return new Promise((resolve) => {
    server.listen(path, () => {
      // Not a passing one.
      utimesSync(path, 1e9, 1e9)
      resolve(server)
    })
  })
}

/** Names, kinds, owners, modes, links, sizes, times and contents below a folder. */
function describeTree(folder: string): string {
  const lines = listTree(folder).map((name) => {
    const path = join(folder, name)
    const stat = lstatSync(path)
    const content = stat.isFile()
      ? readFileSync(path, 'latin1')
      : stat.isSymbolicLink()
        ? readlinkSync(path)
        : ''
    return [name, stat.mode, stat.uid, stat.nlink, stat.mtimeMs, stat.ctimeMs, content].join(' ')
  })
  return lines.sort().join('\n')
}

/** Every name below a folder. A link is a name, never a way: it may lead back. */
function listTree(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const name = join(below, entry.name)
    return entry.isDirectory() ? [name, ...listTree(folder, name)] : [name]
  })
}

/** Why sandbox tests cannot run here, or null. */
export async function findObstacle(): Promise<string | null> {
  const { networkProblem } = await probeSandbox()
  return networkProblem
}
