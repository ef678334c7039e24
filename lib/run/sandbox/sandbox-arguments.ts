import { spawnSync } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { codeOf, messageOf } from '../../protocol/errors.ts'
import { StartError } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import { isWithin, openBeneath } from '../../system/look.ts'
import type { GivenFile } from '../../system/process/spawn.ts'
import type { Launch } from '../launch.ts'
import { isScarce } from '../start-failure.ts'
import type { HiddenPlace } from './home-places.ts'
import { openRoot, type SandboxPlaces } from './sandbox-places.ts'

export interface SandboxMounts {
  places: SandboxPlaces
  /** Gives the host's folder behind `places.tmp`, with these folders in it. */
  privateTmp: (inside: readonly string[]) => string
  /** A folder of the run's own artifacts, seen read-only where the run is told of them. */
  artifacts: { path: string; source: string } | null
  /** Seen read-only as `sharedFolder`. */
  share: string | null
  /** Canonical files and folders below `/run` without which programs do not work. */
  runFiles: readonly string[]
  /** From this number on the program may be given descriptors. */
  firstFd: number
}

/** The code of a failure to open what was there when the mounts were listed. */
export const changedMeanwhile = 'sandbox_changed'

/** Where a sandboxed shell sees the folder that its runner shares with it. */
export const sharedFolder = '/run/nacre'

interface Mount {
  path: string
  words: string[]
  /** Gives a descriptor of what is mounted, after those of the mounts around it. */
  open?: () => number
  /** Nothing else is mounted in it. */
  isLast?: boolean
}

const mountOn = (how: '--bind' | '--ro-bind', path: string, source = path): Mount => ({
  path,
  words: [how, source, path],
})

/**
 * The words of bwrap(1) that give a run its view of the file system. Only places that exist are mounted on, so
 * that bwrap makes nothing through a symbolic link that a command has put in its way (CVE-2026-87766). What a
 * run may write, and what lies in there, is mounted by descriptors: a run that is still alive may put a link in
 * the place of a path. bwrap ends if another thing than the descriptor's has the path then, and every folder
 * above is a mount already, which cannot be replaced.
 */
export function composeMounts(mounts: SandboxMounts): { words: string[]; files: GivenFile[] } {
  const { places, privateTmp, artifacts, share, runFiles, firstFd } = mounts
  const open = places.fixed.map(({ path }) => path)
  const bind = places.writable.length > 0 ? '--bind-fd' : '--ro-bind-fd'
  const hidden = places.hidden.filter(({ path }) => !isLost(path, places))
  const hostRun = places.hostRun.listPresent()
  const show = artifacts && mountOn('--ro-bind', artifacts.path, artifacts.source)
  const lost = show !== null && isLost(show.path, places) ? [show] : []
  const roots = new Map<string, number>()
  const openInside = (path: string) => {
    const root = open.find((folder) => isWithin(path, folder)) ?? ''
    try {
      return openBeneath(roots.get(root) ?? -1, relative(root, path))
    } catch (error) {
      if (isScarce(codeOf(error))) throw error
      throw new StartError(changedMeanwhile, `${path} was replaced meanwhile: ${messageOf(error)}`)
    }
  }
  const pins = pinAbove([...hidden.map(({ path }) => path), ...hostRun], places.writable, hostRun)
  const list: Mount[] = [
    { path: '/dev', words: ['--dev', '/dev'] },
    { path: '/proc', words: ['--proc', '/proc'] },
    // Not covered by what bwrap protects: root may write there without any capability.
    mountOn('--ro-bind', '/proc/sys'),
    { path: '/run', words: ['--tmpfs', '/run'] },
    ...runFiles.map((path) => mountOn('--ro-bind', path)),
    ...openTmp(places, privateTmp, [...open, ...lost.map(({ path }) => path)]),
    ...lost,
    ...hidden
      .flatMap(({ shown }) => shown)
      .filter((path) => !open.includes(path))
      .map((path) => mountOn('--ro-bind', path)),
    ...places.fixed.map((root) => ({
      path: root.path,
      words: [bind],
      open: () => roots.set(root.path, openRoot(root)).get(root.path) ?? -1,
    })),
    ...pins.map((path) => ({ path, words: ['--bind-fd'], open: () => openInside(path) })),
    ...hostRun.map((path) => ({ path, words: ['--ro-bind-fd'], open: () => openInside(path) })),
    ...hidden.map((place) => hide(place, show)),
    ...(share === null ? [] : [mountOn('--ro-bind', sharedFolder, share)]),
  ]
  // Stable: what contains another place comes first. Each mount that is there makes bwrap's next one dearer.
  const order = ({ path, isLast }: Mount) => path.split('/').length + (isLast ? 1e4 : 0)
  list.sort((one, other) => order(one) - order(other))
  const files: GivenFile[] = []
  const words = list.flatMap(({ path, words, open }) => {
    if (open === undefined) return words
    const fd = firstFd + files.length
    files.push({ fd, from: open, access: 'read' })
    return [...words, String(fd), path]
  })
  return { words: ['--ro-bind', '/', '/', ...words], files }
}

/**
 * Kept from run to run, so that one can use what another left. Folders between it and a place in it are
 * read-only mounts: what is written beside the place fails, and is not lost on the way to the host.
 */
function openTmp(
  { tmp }: SandboxPlaces,
  privateTmp: SandboxMounts['privateTmp'],
  open: readonly string[],
): Mount[] {
  if (open.includes(tmp)) return []
  const inside = open.filter((path) => isWithin(path, tmp))
  const source = privateTmp(inside.map((path) => relative(tmp, path)))
  const above = new Set(inside.flatMap((path) => foldersBetween(tmp, path)))
  const pins = [...above].map((path) =>
    mountOn('--ro-bind', path, join(source, relative(tmp, path))),
  )
  return [mountOn('--bind', tmp, source), ...pins]
}

function foldersBetween(root: string, path: string): string[] {
  const folder = dirname(path)
  return path === root || folder === root ? [] : [folder, ...foldersBetween(root, folder)]
}

/** Whether a path lies in a folder of the host that is not there inside. */
function isLost(path: string, { tmp, writable, workspace }: SandboxPlaces): boolean {
  const replaced = isWithin(path, tmp) || isWithin(path, '/run')
  return replaced && ![workspace, ...writable].some((open) => isWithin(path, open))
}

/** Neither what is in there nor that it could be replaced. Nobody writes there without changing its mode first. */
function hide({ path, folder, shown }: HiddenPlace, show: Mount | null): Mount {
  if (!folder) return mountOn('--ro-bind', path, '/dev/null')
  const within = show !== null && isWithin(show.path, path) ? show.words : []
  const mode = shown.length > 0 ? '0555' : '0111'
  return { path, words: ['--perms', mode, '--tmpfs', path, ...within], isLast: shown.length === 0 }
}

/**
 * Folders between a writable place and what is mounted in it are mounts too: a mount cannot be
 * renamed. In what is read-only anyway there is nothing to pin.
 */
function pinAbove(
  paths: readonly string[],
  writable: readonly string[],
  readOnly: readonly string[],
): string[] {
  const pins = paths.flatMap((path) => {
    const root = writable.find((folder) => isWithin(path, folder))
    return root === undefined ? [] : foldersBetween(root, path)
  })
  return [...new Set(pins)].filter((folder) => !readOnly.some((path) => isWithin(folder, path)))
}

/** Variables by which the loader, the C library or a shell takes code or settings from files. */
const loaderVariable =
  /^(LD_|DYLD_|MALLOC_|BASH_FUNC_|GLIBC_TUNABLES$|GCONV_PATH$|LOCPATH$|NLSPATH$|ENV$|BASH_ENV$|SHELLOPTS$|BASHOPTS$|PS4$)/

/**
 * What a run's environment could make of the programs that build the sandbox around it must not
 * reach them: `LD_PRELOAD` would run the command's own code outside.
 */
export function separateLoaderVariables(env: Readonly<Record<string, string>>): {
  outside: Record<string, string>
  inside: Record<string, string>
} {
  const isInside = ([name]: [string, string]) => loaderVariable.test(name)
  const all = Object.entries(env)
  return {
    outside: Object.fromEntries(all.filter((pair) => !isInside(pair))),
    inside: Object.fromEntries(all.filter(isInside)),
  }
}

/** Caches in the home without which a tool gives up, where it cannot write them. */
const caches: Readonly<Record<string, string>> = {
  npm_config_cache: '.npm',
  GOCACHE: '.cache/go-build',
}

/** Sends what is written to usual places to the sandbox's own temporary folder. A caller's word wins. */
export function redirectFiles(
  request: Request,
  env: Readonly<Record<string, string>>,
  { tmp, writable }: SandboxPlaces,
): Record<string, string> {
  const redirected: Record<string, string> = { TMPDIR: tmp }
  for (const name of ['TMP', 'TEMP']) if (name in env) redirected[name] = tmp
  for (const [name, folder] of Object.entries(caches)) {
    const usual = join(env['HOME'] ?? '/', folder)
    const works = name in env || writable.some((open) => isWithin(usual, open))
    if (!works) redirected[name] = join(tmp, 'nacre-cache', folder)
  }
  for (const name of Object.keys(request.env)) delete redirected[name]
  return redirected
}

/** The directory as its user names it, symbolic links and all, where that name leads there inside too. */
export function chooseDirectory({ cwd, tmp, hidden }: SandboxPlaces): string {
  const folders = ['/run', '/tmp', tmp, ...hidden.map(({ path }) => path)]
  const replaced = folders.some((folder) => isWithin(cwd, folder))
  return replaced ? realpathSync(cwd) : cwd
}

/** What a terminal sends for its keys and at its end, and TERM. */
const typedSignals = ['HUP', 'INT', 'QUIT', 'TERM']

const restore = ['/usr/bin/env', `--default-signal=${typedSignals.join(',')}`] as const

/** Whether `env` can do it (GNU coreutils 8.31). Takes a millisecond. */
export function canRestoreSignals(): boolean {
  const [program, option] = restore
  return spawnSync(program, [option, program], { env: {}, stdio: 'ignore' }).status === 0
}

/**
 * A terminal sends the signals of its keys to the whole foreground group, so also to the bwrap around
 * the command; it would die and take the command along, whatever that does with Ctrl-C. So bwrap
 * ignores them, and the command does not.
 */
export function keepTypedSignals(
  launch: Launch,
  bwrapWords: readonly string[],
  command: readonly string[],
): Launch {
  const script = `trap '' ${typedSignals.join(' ')}; exec "$0" "$@"`
  return {
    ...launch,
    file: '/bin/sh',
    argv0: 'sh',
    args: ['-c', script, launch.file, ...bwrapWords, ...restore, ...command],
  }
}
