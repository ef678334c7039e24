import { type Options, type OptionStyle, readOptions } from '../shell/options.ts'
import { absoluteNames, Text } from '../shell/text.ts'
import { type Caught, fetchedScript, type Places, type Rule, type SeenCommand } from './rule.ts'

/** Folders that belong to the system: hier(7). */
const systemFolders =
  '/etc /usr /boot /lib /lib32 /lib64 /bin /sbin /sys /proc/sys /proc/sysrq-trigger /System /Library /private/etc'
    .split(' ')
    .map((path) => path.slice(1).split('/'))

export const systemChange: Rule = {
  name: 'system',
  decision: 'ask',
  instead: 'Work inside the project, or ask the user to do it.',
  holdsFor: 'unconfined agents',
  check(command) {
    const { name, args, writes, places } = command
    const does = (what: string): Caught => ({ does: what, certain: true })
    if (name === fetchedScript) {
      const instead = 'Download it into a file, and read it before it runs.'
      return { ...does('runs a script from the network that nobody has read'), instead }
    }
    if (stopsSystem(name, args)) return does('stops the whole system')
    if (name === 'kill' && killsAll(args)) return does('kills the first process, or all of them')
    for (const path of [...writes, ...changed(command)]) {
      const place = findSystemPlace(path, places)
      if (place !== null) return does(`changes ${place}, which belongs to the system`)
    }
    return null
  },
}

function stopsSystem(name: string, args: readonly Text[]): boolean {
  const has = (pattern: RegExp): boolean => args.some((word) => word.test(pattern))
  switch (name) {
    case 'shutdown':
    case 'reboot':
    case 'halt':
    case 'poweroff':
      return !has(/^(?:-[ckw]|--help|--version|--wtmp-only)$/)
    case 'init':
    case 'telinit':
      return has(/^[016s]$/i)
    case 'systemctl':
    case 'loginctl':
      return has(
        /^(?:poweroff|reboot|halt|kexec|soft-reboot|suspend|hibernate|hybrid-sleep|rescue|emergency)$/,
      )
    default:
      return name === 'killall5'
  }
}

/** `kill -9 1`, `kill -s KILL -- -1`. A lone `-1` is a signal, and `-0` asks only. */
function killsAll([first, ...rest]: readonly Text[]): boolean {
  if (!first || first.test(/^-(?:[lL0]|-list|-table)/)) return false
  const targets = first.test(/^-(?:[sn]|-signal)$/)
    ? rest.slice(1)
    : first.startsWith('-')
      ? rest
      : [first]
  return [...targets, ...(first.startsWith('-') ? [] : rest)].some((word) => word.test(/^-?1$/))
}

/** How a program names the files that it changes. */
interface Writer {
  readonly style?: OptionStyle
  /** Default: all operands. */
  readonly changed?: (read: Options) => readonly Text[]
}

const intoLast: Writer = {
  style: { shortValues: 'tSmgo', longValues: 'target-directory suffix mode group owner' },
  changed: (read) => [...read.valuesOf('t', 'target-directory'), ...read.operands.slice(-1)],
}
const afterFirst: Writer = { changed: ({ operands }) => operands.slice(1) }
const inPlace: Writer = {
  style: { shortValues: 'ef', longValues: 'expression file' },
  changed: (read) => (read.has('i', 'in-place') ? read.operands : []),
}
const saving: Writer = {
  style: { shortValues: 'oOP', longValues: 'output output-document directory-prefix output-dir' },
  changed: ({ values }) => values.map(({ value }) => value),
}

/** Sources: the manual page of each program. */
const writers: Readonly<Record<string, Writer>> = {
  ...{ tee: {}, rm: {}, rmdir: {}, unlink: {}, mv: {}, sponge: {}, truncate: {}, mkdir: {} },
  ...{ touch: {}, cp: intoLast, install: intoLast, ln: intoLast, rsync: intoLast },
  ...{ chmod: afterFirst, chown: afterFirst, chgrp: afterFirst, setfacl: afterFirst },
  ...{ sed: inPlace, perl: inPlace, curl: saving, wget: saving },
  dd: {
    changed: ({ operands }) =>
      operands.flatMap((word) => (word.startsWith('of=') ? word.slice(3) : [])),
  },
  tar: {
    style: { shortValues: 'Cf', longValues: 'directory file' },
    changed: (read) =>
      read.has('x', 'extract', 'get') || read.operands[0]?.test(/^\w*x\w*$/)
        ? read.valuesOf('C', 'directory')
        : [],
  },
}

function changed({ name, args }: SeenCommand): readonly Text[] {
  const writer = Object.hasOwn(writers, name) ? writers[name] : undefined
  if (!writer) return []
  const read = readOptions(args, writer.style ?? {})
  return writer.changed?.(read) ?? read.operands
}

/** The system's file that a path names. The directory of the request belongs to the project, wherever it is. */
function findSystemPlace(path: Text, { directories, start }: Places): string | null {
  const own = start.split('/').filter((name) => name !== '')
  for (const directory of directories) {
    // Below the directory of the request, as most paths are.
    if (own.length > 1 && directory.is(start) && !path.test(/^\/|\.\./)) continue
    const names = absoluteNames(path, directory)
    const begins = (with_: readonly string[]) => with_.every((name, at) => names[at]?.is(name))
    if (own.length > 1 && begins(own)) continue
    if (names.length === 0 || systemFolders.some(begins)) return `/${Text.join(names, '/').chars}`
  }
  return null
}
