import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { cliCommand } from '../helpers/cli.ts'
import { runCli } from '../helpers/run-cli.ts'
import { findLeftovers } from './leftovers.ts'
import { createToken, describe, findByWords } from './processes.ts'
import { hear } from '../helpers/until.ts'

/** What a killed nacre was about; `stdin` is what it reads. */
interface Form {
  name: string
  words: (token: string) => string[]
  stdin?: (token: string) => string
}

const daemon = (token: string) => `(env -i setsid sleep ${token} </dev/null >/dev/null 2>&1 &)`
const child = (token: string) => `setsid sleep ${token} & ${daemon(token)}; sleep ${token}`
const line = (method: string, params: object) =>
  `${JSON.stringify({ jsonrpc: '2.0', id: method, method, params })}\n`

const forms: readonly Form[] = [
  { name: 'pipe', words: (token) => ['-p', `!${child(token)}`] },
  { name: 'json', words: (token) => ['-c', child(token), '--output-format', 'json'] },
  { name: 'pty', words: (token) => ['-c', child(token), '--pty'] },
  { name: 'session', words: (token) => ['-c', child(token), '--session', 'main'] },
  { name: 'short', words: (token) => ['-p', `!${daemon(token)}; true`] },
  { name: 'job', words: (token) => ['-c', child(token), '--background'] },
  { name: 'waited for', words: (token) => ['-c', child(token), '--wait', '60'] },
  { name: 'sandbox', words: (token) => ['-c', child(token), '--sandbox', 'workspace'] },
  {
    name: 'rpc',
    words: () => ['--rpc'],
    stdin: (token) =>
      line('shell.start', { command: child(token) }) +
      line('shell.exec', { command: child(token), session: 'main' }) +
      line('session.open', { name: 'other' }),
  },
]

/** What is kept of a user while nacres are killed: the state, and the folder of temporary files. */
export interface Victim {
  dir: string
  env: Record<string, string>
  remove(): void
}

export function openVictim(): Victim {
  const dir = mkdtempSync(join(tmpdir(), 'kills-'))
  for (const name of ['tmp', 'work']) mkdirSync(join(dir, name))
  const env = { XDG_STATE_HOME: join(dir, 'state'), TMPDIR: join(dir, 'tmp'), HOME: dir }
  return { dir, env, remove: () => rmSync(dir, { recursive: true, force: true }) }
}

/**
 * Kills a nacre so long after its start, has the next one start, and tells what is left that should
 * not be: processes but those of declared jobs, folders, control groups, files that nobody can read.
 */
export async function tryKill(index: number, afterMs: number, victim: Victim): Promise<string[]> {
  const form = forms[index % forms.length] as Form
  const token = createToken()
  const [program = '', ...first] = cliCommand()
  const nacre = spawn(program, [...first, ...form.words(token)], {
    env: { ...process.env, ...victim.env },
    cwd: join(victim.dir, 'work'),
    stdio: [form.stdin ? 'pipe' : 'ignore', 'ignore', 'ignore'],
  })
  nacre.stdin?.on('error', () => undefined)
  nacre.stdin?.write(form.stdin?.(token) ?? '')
  const exited = hear(nacre, 'exit')
  await delay(afterMs)
  nacre.kill('SIGKILL')
  await exited
  if (nacre.exitCode !== null) {
    // It has come to its end before, and what its command left in the background is to stay.
    for (const { pid } of findByWords(token)) process.kill(pid, 'SIGKILL')
    return []
  }

  await runCli(['-p', '!true'], { env: victim.env })
  let faults: string[] = []
  // Whoever ends what was left does so beside the next nacre, not before it.
  for (let look = 0; look < 300; look++) {
    faults = await findLeft(nacre.pid ?? 0, token, victim)
    if (faults.length === 0) break
    await delay(10)
  }
  const told = faults.map(
    (fault) => `${form.name}, killed after ${afterMs.toFixed(0)} ms: ${fault}`,
  )
  for (const { id } of await listJobs(victim)) {
    await runCli(['job', 'kill', id], { env: victim.env })
  }
  const after = findByWords(token)
  for (const { pid } of after) process.kill(pid, 'SIGKILL')
  return told.concat(faults.length > 0 ? [] : after.map((it) => `after job kill: ${describe(it)}`))
}

async function findLeft(pid: number, token: string, victim: Victim): Promise<string[]> {
  const faults: string[] = []
  const processes = findByWords(token)
  if (processes.length > 0) {
    const jobs = await listJobs(victim)
    const isDeclared = jobs.some(({ command }) => command.includes(token))
    if (!isDeclared) faults.push(...processes.map((it) => `process ${describe(it)}`))
    // A supervisor holds it, with folders of its own.
    if (isDeclared) return faults
  }
  return [...faults, ...findLeftovers(pid, victim.dir)]
}

async function listJobs(victim: Victim): Promise<{ id: string; command: string }[]> {
  const { stdout } = await runCli(['job', 'list', '--output-format', 'json'], { env: victim.env })
  const { jobs } = JSON.parse(stdout.toString()) as { jobs: Record<string, unknown>[] }
  return jobs
    .filter(({ status, origin }) => status === 'running' && origin !== null)
    .map((job) => ({ id: String(job['id']), command: String(job['command']) }))
}

/** How long a nacre takes from its start to a command that runs: kills fall before, then and after. */
export async function measureStart(victim: Victim): Promise<number> {
  const startedMs = performance.now()
  await runCli(['-p', '!true'], { env: victim.env })
  return performance.now() - startedMs
}
