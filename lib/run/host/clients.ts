import { StartError } from '../../protocol/ports.ts'
import { findProgram } from '../../system/programs.ts'
import { type HostAddress, parseHostAddress } from '../../protocol/request/host-address.ts'
import type { HostClient } from './client.ts'
import { describeCommand } from './remote-command.ts'
import { composeBootstrapWords } from './script.ts'
import { type ArrayScheduler, createSlurmArrays } from './slurm/array.ts'
import { createSlurmClient } from './slurm/client.ts'
import { createSshClient } from './ssh-client.ts'

/** The environment of nacre, in which the client of a host finds its configuration. */
type ClientEnvironment = Readonly<Record<string, string | undefined>>

/** Makes the client of a host. */
export function createHostClient(address: HostAddress, environment: ClientEnvironment): HostClient {
  const find = findIn(environment)
  switch (address.kind) {
    case 'ssh':
      return createSshClient(address, () => find('ssh'), environment)
    case 'slurm':
      return createSlurmClient(address, find, environment)
    case 'docker':
    case 'podman':
      return createPlainClient((script, terminal) => ({
        file: find(address.kind),
        args: [
          'exec',
          terminal ? '-it' : '-i',
          address.container,
          ...composeBootstrapWords(script),
        ],
      }))
    case 'kubectl':
      return createPlainClient((script, terminal) => ({
        file: find('kubectl'),
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

/** How a scheduler is reached that runs an array. */
export interface SchedulerPlace {
  /** `slurm://[partition]`. */
  address: string
  environment: ClientEnvironment
  /** Where the tasks begin. */
  cwd: string
}

/** The scheduler that an address names; null where that is none. Throws `MisuseError`. */
export function openArrayScheduler({
  address,
  environment,
  cwd,
}: SchedulerPlace): ArrayScheduler | null {
  const parsed = parseHostAddress(address)
  if (parsed.kind !== 'slurm') return null
  const slurm = { find: findIn(environment), environment }
  return createSlurmArrays(parsed, slurm, (request, name) => describeCommand(request, name, cwd))
}

const findIn = (environment: ClientEnvironment) => (name: string) =>
  findClient(name, environment['PATH'] ?? '/usr/bin:/bin')

/** The packages of the clients, where their names are others. */
const packages: Readonly<Record<string, string>> = {
  ssh: 'openssh-client',
  srun: 'slurm-client',
  sbatch: 'slurm-client',
  squeue: 'slurm-client',
  scancel: 'slurm-client',
}

/** The path of a client. Throws `StartError` where there is none. */
function findClient(name: string, path: string): string {
  const found = findProgram(name, path)
  if (found !== null) return found
  const message = `${name} is not on the PATH: install ${packages[name] ?? name} to reach such hosts`
  throw new StartError('host_client_missing', message)
}

/** Each call of these clients is a connection of its own. */
function createPlainClient(compose: HostClient['compose']): HostClient {
  return {
    connect: async () => undefined,
    compose,
    scheduler: null,
    close: async () => undefined,
  }
}
