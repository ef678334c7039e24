import { MisuseError } from '../errors.ts'

/** Another machine, or a part of one, on which runs can be started. */
export type HostAddress =
  | { kind: 'ssh'; destination: string; port: number | null }
  | { kind: 'docker' | 'podman'; container: string }
  | { kind: 'kubectl'; namespace: string | null; pod: string; container: string | null }
  /** A scheduler: null is its own choice of a partition. */
  | { kind: 'slurm'; partition: string | null }

const forms =
  'ssh://[user@]host[:port], a name of ~/.ssh/config, docker://container, podman://container, kubectl://[namespace/]pod[/container] or slurm://[partition]'

/**
 * Reads the address of a host. A word without a scheme is a name that ssh knows. What begins with a
 * dash would be an option of the client, so that it is no name. Throws `MisuseError`, which calls it by `name`.
 */
export function parseHostAddress(text: string, name = 'host'): HostAddress {
  const [, scheme = 'ssh', rest = ''] = /^(?:([a-z]+):\/\/)?(.*)$/.exec(text) ?? []
  if (scheme === 'slurm' && rest === '') return { kind: 'slurm', partition: null }
  if (!/^[^\s-][^\s]*$/.test(rest)) throw unreadable(text, name)
  switch (scheme) {
    case 'ssh':
      return parseSsh(text, rest, name)
    case 'docker':
    case 'podman':
      if (rest.includes('/')) throw unreadable(text, name)
      return { kind: scheme, container: rest }
    case 'kubectl':
      return parseKubectl(text, rest, name)
    case 'slurm':
      if (rest.includes('/')) throw unreadable(text, name)
      return { kind: 'slurm', partition: rest }
    default:
      throw unreadable(text, name)
  }
}

/** An IPv6 address stands in brackets, as in every URL. */
function parseSsh(text: string, rest: string, name: string): HostAddress {
  const match = /^((?:[^@/]+@)?)(\[[0-9a-fA-F:.]+\]|[^@/:[\]]+)(?::(\d{1,5}))?\/?$/.exec(rest)
  const [, user = '', host = '', port] = match ?? []
  if (host === '' || host.startsWith('-') || Number(port ?? 1) > 65_535)
    throw unreadable(text, name)
  const machine = host.startsWith('[') ? host.slice(1, -1) : host
  return {
    kind: 'ssh',
    destination: `${user}${machine}`,
    port: port === undefined ? null : Number(port),
  }
}

function parseKubectl(text: string, rest: string, name: string): HostAddress {
  const parts = rest.split('/')
  if (parts.length > 3 || parts.some((part) => part === '' || part.startsWith('-'))) {
    throw unreadable(text, name)
  }
  const [first = '', second, third] = parts
  return second === undefined
    ? { kind: 'kubectl', namespace: null, pod: first, container: null }
    : { kind: 'kubectl', namespace: first, pod: second, container: third ?? null }
}

function unreadable(text: string, name: string): MisuseError {
  return new MisuseError('invalid_host', `\`${name}\` must be ${forms}, not \`${text}\``, name)
}
