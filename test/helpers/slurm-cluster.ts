import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '../../lib/system/look.ts'
import { findFreePorts } from './free-port.ts'
import { hear, until } from './until.ts'

/** Two nodes of Slurm on this machine, with a controller and a munge of their own. */
export interface Cluster {
  folder: string
  /** Added to the environment of whoever is to find it. */
  environment: { SLURM_CONF: string }
  /** Calls one of Slurm's own programs; throws where it fails. */
  call: (...words: string[]) => string
  close(): Promise<void>
}

const path = '/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin'
const programs = [
  'slurmctld',
  'slurmd',
  'srun',
  'sbatch',
  'squeue',
  'scancel',
  'scontrol',
  'munged',
]

/** Why none can be started here, or null. */
export function findSlurmObstacle(): string | null {
  if (process.getuid?.() !== 0) return 'only root starts the nodes of Slurm here'
  const missing = programs.filter((name) => findProgram(name, path) === null)
  return missing.length === 0 ? null : `missing: ${missing.join(', ')}`
}

/**
 * Its partitions are `main`, and `high`, whose jobs displace those of `main`. Of its processors each
 * takes one job a second, since the controller looks so often who is next.
 */
export async function startCluster({ processors = 1 } = {}): Promise<Cluster> {
  // A short path: sockets of munge lie there.
  const folder = mkdtempSync('/tmp/nacre-slurm-')
  chmodSync(folder, 0o755)
  const at = (name: string) => join(folder, name)
  for (const name of ['spool', 'state']) mkdirSync(at(name))
  writeFileSync(at('key'), randomBytes(128), { mode: 0o600 })
  const [control = 0, first = 0, second = 0] = await findFreePorts(3)
  const name = hostname()
  const node = (index: number, port: number) =>
    `NodeName=n${index} NodeHostName=${name} NodeAddr=127.0.0.1 Port=${port} CPUs=${processors} RealMemory=400`
  const settings = [
    'ClusterName=test',
    `SlurmctldHost=${name}(127.0.0.1)`,
    'SlurmUser=root',
    `AuthInfo=socket=${at('munge')}`,
    `SlurmctldPort=${control}`,
    `StateSaveLocation=${at('state')}`,
    `SlurmdSpoolDir=${at('spool')}/%n`,
    `SlurmctldPidFile=${at('slurmctld.pid')}`,
    `SlurmdPidFile=${at('slurmd-%n.pid')}`,
    `SlurmctldLogFile=${at('slurmctld.log')}`,
    `SlurmdLogFile=${at('slurmd-%n.log')}`,
    'ProctrackType=proctrack/linuxproc',
    'TaskPlugin=task/none',
    'MpiDefault=none',
    // A node may claim to have more processors than this machine.
    'SlurmdParameters=config_overrides',
    'SelectType=select/cons_tres',
    'SelectTypeParameters=CR_CPU_Memory',
    'DefMemPerCPU=100',
    'SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0',
    'PreemptType=preempt/partition_prio',
    'PreemptMode=CANCEL',
    'ReturnToService=2',
    // On a busy machine an srun takes longer than 2 s to answer the controller, which then cancels its job.
    'TCPTimeout=30',
    'MessageTimeout=60',
    'OverTimeLimit=0',
    // A job that takes more memory than it may is ended when that is counted, each second.
    'JobAcctGatherType=jobacct_gather/linux',
    'JobAcctGatherFrequency=1',
    'JobAcctGatherParams=OverMemoryKill',
    node(1, first),
    node(2, second),
    'PartitionName=main Nodes=n[1-2] Default=YES State=UP PriorityTier=1',
    'PartitionName=high Nodes=n[1-2] State=UP PriorityTier=10',
  ]
  writeFileSync(at('slurm.conf'), `${settings.join('\n')}\n`)
  const environment = { SLURM_CONF: at('slurm.conf') }
  const servers: ChildProcess[] = []
  const start = (program: string, ...words: string[]) => {
    const file = findProgram(program, path) ?? program
    const env = { ...process.env, ...environment, PATH: path }
    servers.push(spawn(file, words, { env, stdio: 'ignore' }))
  }
  const call = (program = '', ...words: string[]) => {
    const env = { ...process.env, ...environment }
    const { status, stdout, stderr } = spawnSync(findProgram(program, path) ?? program, words, {
      env,
      encoding: 'utf8',
      timeout: 20_000,
    })
    if (status === 0) return stdout
    throw new Error(`${program} ${words.join(' ')}: ${stderr.trim() || `status ${status}`}`)
  }
  const isIdle = () => {
    try {
      return call('squeue', '--noheader') === ''
    } catch {
      // The controller has never come.
      return true
    }
  }
  const close = async () => {
    // What still tells its end to a controller that is gone does so for minutes; what hangs has no claim to it.
    await until(isIdle).catch((error: unknown) => console.log(String(error)))
    // In the order of the list: the nodes' last words still find the controller.
    for (const server of servers.reverse()) {
      if (server.exitCode !== null || server.signalCode !== null) continue
      const gone = hear(server, 'exit')
      server.kill()
      const over = setTimeout(() => server.kill('SIGKILL'), 10_000)
      await gone
      clearTimeout(over)
    }
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    start(
      'munged',
      '--foreground',
      '--force',
      `--socket=${at('munge')}`,
      `--key-file=${at('key')}`,
      `--pid-file=${at('munged.pid')}`,
      `--log-file=${at('munged.log')}`,
      `--seed-file=${at('munged.seed')}`,
    )
    start('slurmctld', '-D')
    start('slurmd', '-D', '-N', 'n1')
    start('slurmd', '-D', '-N', 'n2')
    let said = ''
    await until(
      () => {
        try {
          said = call('sinfo', '--noheader', '--format=%T %D')
          return /^idle 2$/m.test(said)
        } catch (error) {
          said = String(error)
          return false
        }
      },
      () => said,
    )
  } catch (error) {
    await close()
    throw error
  }
  return { folder, environment, call, close }
}
