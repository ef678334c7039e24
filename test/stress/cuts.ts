import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createExecutor, type Executor } from '../../lib/executor/executor.ts'
import type { Result } from '../../lib/protocol/result/result.ts'
import { endConnections, makeClientFolder, startServer } from '../helpers/ssh-host.ts'

const ip = (...words: string[]) => spawnSync('ip', words, { encoding: 'utf8' })

function setIp(...words: string[]): void {
  const { status, stderr } = ip(...words)
  if (status !== 0) throw new Error(`ip ${words.join(' ')}: ${stderr.trim()}`)
}

/** Two addresses that no other process has, in place of ones that a killed test may have left behind. */
function chooseAddresses(pid: number): { here: string; there: string } {
  const net = `10.${128 + ((pid >> 14) & 127)}.${(pid >> 6) & 255}`
  const first = (pid & 63) * 4
  return { here: `${net}.${first + 1}`, there: `${net}.${first + 2}` }
}

/** Why no two namespaces of the network can be connected here, or null. */
export function findNetworkObstacle(): string | null {
  if (process.getuid?.() !== 0) return 'only root makes network namespaces'
  const name = `nacre-try-${process.pid}`
  const { status, stderr, error } = ip('netns', 'add', name)
  if (status !== 0) return `ip netns: ${error?.message ?? stderr.trim()}`
  ip('netns', 'delete', name)
  return null
}

/** A host of ssh at the end of a line that can be cut. */
export interface Line {
  executor: Executor
  /** Cuts it, and gives what mends it: at once where the server's processes were killed. */
  cut: () => () => void
  close(): Promise<void>
}

/** `packets`: the host has a network of its own, and a cut drops all packets without a word. */
export async function openLine(cause: 'server' | 'packets'): Promise<Line> {
  const name = `nacre-${process.pid}`
  const [here, there] = [`nh${process.pid}`, `nt${process.pid}`]
  const address = chooseAddresses(process.pid)
  const isApart = cause === 'packets'
  if (isApart) {
    ip('link', 'delete', here)
    ip('netns', 'delete', name)
    setIp('netns', 'add', name)
    setIp('link', 'add', here, 'type', 'veth', 'peer', 'name', there, 'netns', name)
    setIp('addr', 'add', `${address.here}/30`, 'dev', here)
    setIp('link', 'set', here, 'up')
    setIp('-n', name, 'addr', 'add', `${address.there}/30`, 'dev', there)
    setIp('-n', name, 'link', 'set', there, 'up')
    setIp('-n', name, 'link', 'set', 'lo', 'up')
  }
  // What was cut before it began there may make its folder when nobody asks for it any more.
  const folder = mkdtempSync(join(tmpdir(), 'nacre-cut-'))
  const environment = `TMPDIR=${folder}`
  const place = { environment, ...(isApart && { namespace: name, address: address.there }) }
  const server = await startServer('', ['MaxSessions 50'], null, place)
  const executor = createExecutor({
    stateDir: null,
    environment: { ...process.env, PATH: `${makeClientFolder(server)}:${process.env['PATH']}` },
  })
  return {
    executor,
    cut() {
      if (!isApart) {
        endConnections(server)
        return () => undefined
      }
      ip('-n', name, 'link', 'set', there, 'down')
      return () => void ip('-n', name, 'link', 'set', there, 'up')
    },
    async close() {
      await executor.close()
      // It waits for packets that never come, and would hold what the server writes to.
      endConnections(server)
      await server.close()
      rmSync(folder, { recursive: true, maxRetries: 5 })
      if (!isApart) return
      ip('link', 'delete', here)
      ip('netns', 'delete', name)
    },
  }
}

const lines = 4001
const command = 'seq 1 2000; sleep 0.3; seq 2001 4000; echo whole'

/** What is under way while the line is cut; a job is to end well all the same. */
const attachments = {
  run: {},
  job: { mode: 'background' },
  session: { session: 'cut' },
} as const
type Attachment = keyof typeof attachments

/** A line that is silent is given up after 15 s, and what could not be stopped after 10 s more. */
const patienceMs = 90_000

/** Cuts the line so long after one run of each kind has started, and tells what was wrong with their ends. */
export async function tryCut(
  { executor, cut }: Line,
  afterMs: number,
  cutMs: number,
): Promise<string[]> {
  const start = async (attachment: Attachment) => {
    const run = await executor.start({
      ...{ command, origin: 'print', host: 'box', guard: false, maxLines: 9000 },
      ...attachments[attachment],
    })
    return run.ended
  }
  const ends = (Object.keys(attachments) as Attachment[]).map(async (attachment) => {
    const silent = new AbortController()
    const late = delay(patienceMs, null, { signal: silent.signal }).catch(() => null)
    const result = await Promise.race([start(attachment), late])
    silent.abort()
    const fault = result === null ? 'it hangs' : findFault(attachment, result)
    return fault === null ? [] : [`${attachment}, cut after ${Math.round(afterMs)} ms: ${fault}`]
  })
  await delay(afterMs)
  const mend = cut()
  await delay(cutMs)
  mend()
  return (await Promise.all(ends)).flat()
}

/** Every end is right but a success that is none; a job is found again once it has begun. */
function findFault(attachment: Attachment, result: Result): string | null {
  const { status, exitCode } = result
  const count = (result.output ?? result.stdout ?? '').trim().split('\n').length
  if (status === 'exited') {
    return exitCode === 0 && count === lines ? null : `exit ${exitCode} with ${count} lines`
  }
  const allowed = attachment === 'job' ? ['not_started'] : ['lost', 'not_started']
  return allowed.includes(status) ? null : `${status}: ${JSON.stringify(result.error)}`
}
