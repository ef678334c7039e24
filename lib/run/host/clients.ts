import { StartError } from '../../protocol/ports.ts'
import { findProgram } from '../../system/programs.ts'
import type { HostAddress } from './address.ts'
import type { HostClient } from './client.ts'
import { composeBootstrapWords } from './script.ts'
import { createSlurmClient } from './slurm/client.ts'
import { createSshClient } from './ssh-client.ts'

/** `environment`: that of nacre, where the client finds its configuration. */
export function createHostClient(
  address: HostAddress,
  environment: Readonly<Record<string, string | undefined>>,
): HostClient {
  const find = (name: string) => findClient(name, environment['PATH'] ?? '/usr/bin:/bin')
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

/** Where a client comes from, where its package has another name. */
const packages: Readonly<Record<string, string>> = {
  ssh: 'openssh-client',
  srun: 'slurm-client',
  sbatch: 'slurm-client',
  squeue: 'slurm-client',
  scancel: 'slurm-client',
}

/** The path of a client. Throws `StartError` where there is none. */
export function findClient(name: string, path: string): string {
  const found = findProgram(name, path)
  if (found !== null) return found
  const message = `${name} is not on the PATH: install ${packages[name] ?? name} to reach such hosts`
  throw new StartError({ code: 'host_client_missing', message, exitCode: 125 })
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
