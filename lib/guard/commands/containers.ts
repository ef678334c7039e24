import { type Options, readOptions } from '../shell/options.ts'
import type { Mount, Scope } from '../shell/scope.ts'
import { absoluteNames, empty, Text } from '../shell/text.ts'
import type { Commands, Follow } from './call.ts'

/** Options with a value, of `run`, `create` and `exec`. Source: the reference of docker's commands. */
const style = {
  shortValues: 'acehlmpuvw',
  longValues: `add-host annotation attach blkio-weight cap-add cap-drop cgroup-parent cgroupns cidfile
    cpu-period cpu-quota cpu-shares cpus cpuset-cpus cpuset-mems detach-keys device device-cgroup-rule
    dns dns-option dns-search domainname entrypoint env env-file expose gpus group-add health-cmd
    health-interval health-retries health-start-period health-timeout hostname ip ip6 ipc isolation
    label label-file link link-local-ip log-driver log-opt mac-address memory memory-reservation
    memory-swap memory-swappiness mount name network network-alias oom-score-adj pid pids-limit
    platform publish pull restart runtime security-opt shm-size stop-signal stop-timeout storage-opt
    sysctl tmpfs ulimit user userns uts volume volume-driver volumes-from workdir`,
  stopsAtOperand: true,
}
const globalStyle = {
  shortValues: 'cHlfpn',
  longValues: `config context host log-level tlscacert tlscert tlskey file project-name profile
    env-file project-directory ansi parallel connection url root runroot storage-driver namespace
    address cgroup-manager`,
  stopsAtOperand: true,
}

/**
 * `docker run -v /:/host image command`: what runs in the container reaches the folders that are
 * mounted into it and nothing else of this machine.
 */
const container: Follow = ({ args, scope, stdin, shell }) => {
  let words: readonly Text[] = readOptions(args, globalStyle).operands
  if (words[0]?.is('compose')) words = readOptions(words.slice(1), globalStyle).operands
  else if (words[0]?.is('container')) words = words.slice(1)
  const [subcommand = empty, ...rest] = words
  if (!subcommand.test(/^(?:run|create|exec)$/)) return empty
  const options = readOptions(rest, style)
  const entry = options.valuesOf('entrypoint').slice(-1)
  // The image, or the container, and then the command.
  const command = [...entry, ...options.operands.slice(1)]
  const inner = scope.clone()
  inner.mounts = readMounts(options, scope)
  inner.assign('HOME', [new Text('/root')])
  inner.directories = [options.valueOf('w', 'workdir') ?? new Text('/')]
  if (command.length > 0) return shell.runWords(command, inner, stdin)
  return stdin === null ? empty : shell.runScript(stdin, inner, null)
}

function readMounts(options: Options, scope: Scope): Mount[] {
  const mounts: Mount[] = []
  const add = (source: Text, target: Text): void => {
    // A name is a volume, and no folder of this machine.
    if (!source.test(/^[/.~…]/)) return
    const [directory = empty] = scope.directories
    const outside = Text.join(['/', Text.join(absoluteNames(source, directory), '/')])
    mounts.push({ outside, inside: absoluteNames(target, new Text('/')) })
  }
  for (const volume of options.valuesOf('v', 'volume')) {
    const [source = empty, target] = volume.split(':')
    if (target) add(source, target)
  }
  for (const mount of options.valuesOf('mount')) {
    const field = (names: RegExp): Text | undefined => {
      const found = mount.split(',').find((part) => part.test(names))
      return found?.slice(found.chars.indexOf('=') + 1)
    }
    const source = field(/^(?:source|src)=/)
    const target = field(/^(?:target|destination|dst)=/)
    if (source && target) add(source, target)
  }
  for (const device of options.valuesOf('device')) {
    const [source = empty, target = source] = device.split(':')
    add(source, target)
  }
  if (options.has('privileged')) add(new Text('/dev'), new Text('/dev'))
  return mounts
}

/** Programs that run a command in a container. */
export const containerCommands: Commands = new Map(
  ['docker', 'podman', 'nerdctl', 'finch', 'docker-compose'].map((name) => [name, container]),
)
