import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '../../lib/system/look.ts'
import { cliCommand } from '../helpers/cli.ts'
import { findSlurmObstacle, startCluster } from '../helpers/slurm-cluster.ts'
import { findSshObstacle, makeClientFolder, startServer } from '../helpers/ssh-host.ts'
import { measure } from './measure.ts'
import { formatMs, printTable } from './table.ts'

const tasks = 500
/** Each start of it takes a while, and 500 of them would tell no more. */
const sruns = 50
/** How the tasks of every way end: by their number. */
const statusOf = (task: number) => task % 7

type Environment = Record<string, string | undefined>

/** What it takes to run many short tasks, beside the tools that people have for it. */
export async function benchArrays(): Promise<void> {
  await benchHere()
  await benchOverSsh()
  await benchOnSlurm()
}

async function benchHere(): Promise<void> {
  await inState(async (env) => {
    const rows = [head]
    const command = `exit $((NACRE_TASK % 7))`
    await addNacre(rows, 'nacre --array --jobs 4', ['--jobs', '4', '-c', command], env)
    await addPeer(rows, 'GNU parallel -j 4', parallel(['-j', '4']), tasks, env)
    printTable(`${tasks} tasks on this machine`, rows)
  })
}

async function benchOverSsh(): Promise<void> {
  const obstacle = findSshObstacle()
  if (obstacle !== null) return console.log(`\nSKIP tasks over ssh: ${obstacle}`)
  const one = await startServer('', ['MaxSessions 50', 'MaxStartups 100'])
  const two = await startServer('', ['MaxSessions 50', 'MaxStartups 100'])
  try {
    const folder = makeClientFolder(one, { other: two })
    await inState(async (state) => {
      const env = { ...state, PATH: `${folder}:${process.env['PATH']}` }
      const rows = [head]
      const words = ['--host', 'box,other', '--jobs', '4', '-c', 'exit $((NACRE_TASK % 7))']
      await addNacre(rows, 'nacre --array --host a,b --jobs 4', words, env)
      const hosts = ['--ssh', join(folder, 'ssh'), '-S', '4/box,4/other']
      await addPeer(rows, 'GNU parallel -S 4/a,4/b', parallel(hosts), tasks, env)
      printTable(`${tasks} tasks over ssh, on two hosts that are this machine`, rows)
    })
  } finally {
    await one.close()
    await two.close()
  }
}

async function benchOnSlurm(): Promise<void> {
  const obstacle = findSlurmObstacle()
  if (obstacle !== null) return console.log(`\nSKIP tasks on Slurm: ${obstacle}`)
  const cluster = await startCluster({ processors: 8 })
  try {
    await inState(async (state) => {
      const env = { ...state, ...cluster.environment }
      const rows = [head]
      const words = ['--host', 'slurm://', '--memory', '40M', '-c', 'exit $((NACRE_TASK % 7))']
      await addNacre(rows, 'nacre --array --host slurm://', words, env)
      const script = `sbatch --wait --array=1-${tasks} --mem=40M --output=/dev/null --wrap='exit $((SLURM_ARRAY_TASK_ID % 7))'`
      await addPeer(rows, 'sbatch --array', ['sh', '-c', script], tasks, env)
      const loop = `for i in $(seq ${sruns}); do srun --mem=40M sh -c 'exit $(($1 % 7))' _ $i; done 2>/dev/null`
      await addPeer(rows, `srun, one by one (${sruns})`, ['sh', '-c', loop], sruns, env)
      printTable(
        `${tasks} tasks on two nodes of Slurm that are this machine, each with 8 processors`,
        rows,
      )
    })
  } finally {
    await cluster.close()
  }
}

const head = ['way', 'whole', 'a task', 'results']

const parallel = (words: readonly string[]) => [
  'sh',
  '-c',
  `seq ${tasks} | "$@" 'exit $(({} % 7))'`,
  '_',
  'parallel',
  '--will-cite',
  ...words,
]

async function inState(use: (env: Environment) => Promise<void>): Promise<void> {
  const state = mkdtempSync(join(tmpdir(), 'nacre-bench-'))
  try {
    await use({ XDG_STATE_HOME: state, HOME: state })
  } finally {
    rmSync(state, { recursive: true, force: true })
  }
}

const limitMs = 600_000

async function addNacre(
  rows: string[][],
  name: string,
  words: readonly string[],
  env: Environment,
): Promise<void> {
  const given = ['--array', `${tasks}`, '--output-format', 'stream-json', ...words]
  const { ms, stdout } = await measure([...cliCommand(), ...given], { env, limitMs })
  const right = stdout
    .split('\n')
    .filter((line) => line.startsWith('{"type":"task"'))
    .map((line) => JSON.parse(line) as { task: number; result: { exit_code: number | null } })
    .filter(({ task, result }) => result.exit_code === statusOf(task))
  const told = new Set(right.map(({ task }) => task)).size
  rows.push([name, formatMs(ms), formatMs(ms / tasks), `${told} of ${tasks} right`])
}

async function addPeer(
  rows: string[][],
  name: string,
  words: readonly string[],
  count: number,
  env: Environment,
): Promise<void> {
  if (findProgram('parallel', process.env['PATH'] ?? '') === null && words.includes('parallel'))
    return void rows.push([name, '-', '-', 'not installed'])
  const { ms } = await measure(words, { env, limitMs })
  rows.push([name, formatMs(ms), formatMs(ms / count), ''])
}
