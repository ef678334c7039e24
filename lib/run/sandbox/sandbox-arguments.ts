import { spawnSync } from 'node:child_process'
import { readFileSync, realpathSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { Request } from '../../protocol/request/request.ts'
import { isWithin } from '../../system/look.ts'
import type { Launch } from '../launch.ts'
import type { SandboxPlaces } from './sandbox-places.ts'

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
}

/** Where a sandboxed shell sees the folder that its runner shares with it. */
export const sharedFolder = '/run/nacre'

interface Mount {
  path: string
  words: string[]
}

const mountOn = (how: '--bind' | '--ro-bind', path: string, source = path): Mount => ({
  path,
  words: [how, source, path],
})

/**
 * The words of bwrap(1) that give a run its view of the file system. Only places that exist are mounted on, so
 * that bwrap makes nothing through a symbolic link that a command has put in its way (CVE-2026-87766).
 * `mounted`: the places inside of what can be written.
 */
export function composeMounts(mounts: SandboxMounts): { words: string[]; mounted: string[] } {
  const { places, privateTmp, artifacts, share, runFiles } = mounts
  const open = places.writable.length > 0 ? places.writable : [places.workspace]
  const bind = places.writable.length > 0 ? '--bind' : '--ro-bind'
  const hidden = places.hidden.filter(({ path }) => !isLost(path, places))
  const hostRun = places.hostRun.listPresent()
  const show = artifacts && mountOn('--ro-bind', artifacts.path, artifacts.source)
  const lost = show !== null && isLost(show.path, places) ? [show] : []
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
    ...open.map((path) => mountOn(bind, path)),
    ...pins.map((path) => mountOn('--bind', path)),
    ...hostRun.map((path) => mountOn('--ro-bind', path)),
    ...hidden.map(({ path, folder }) => hide(path, folder, show)),
    ...(share === null ? [] : [mountOn('--ro-bind', sharedFolder, share)]),
  ]
  // Stable: what contains another place comes first.
  const depth = ({ path }: Mount) => path.split('/').length
  list.sort((one, other) => depth(one) - depth(other))
  return {
    words: ['--ro-bind', '/', '/', ...list.flatMap(({ words }) => words)],
    mounted: [...pins, ...hostRun],
  }
}

/** What the check says where the command does not begin. */
export const misplaced = 'bwrap: Something in the workspace was replaced meanwhile'

const checkScript = `while [ "$1" != -- ]; do
  right=0
  while read -r _ _ _ from at _; do
    [ "$at" = "$1" ] && base=\${from%/}
    case " $3 " in *" $at "*) [ "$from" = "$base\${at#"$1"}" ] && right=$((right + 1)) ;; esac
  done </proc/self/mountinfo
  [ $right = "$2" ] || { echo '${misplaced}' >&2; exit 1; }
  shift 3
done
shift
exec "$@"`

/**
 * Words in front of a command, which begins only if each mount in a writable folder shows what lies there.
 * bwrap resolves paths again, and a run that is still alive could have put a link in the place of one. What
 * lies on a mount of the host is not looked at.
 */
export function composeCheck(mounted: readonly string[], writable: readonly string[]): string[] {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  const ofHost = lines.map((line) => line.split(' ')[4] ?? '')
  const folders = writable.map(escapeMounted).flatMap((root) => {
    const apart = ofHost.filter((path) => path !== root && isWithin(path, root))
    const paths = mounted
      .map(escapeMounted)
      .filter((path) => isWithin(path, root) && !apart.some((mount) => isWithin(path, mount)))
    return paths.length === 0 ? [] : [root, String(paths.length), paths.join(' ')]
  })
  return folders.length === 0 ? [] : ['/bin/sh', '-c', checkScript, 'sh', ...folders, '--']
}

/** As in the file mountinfo (proc(5)). */
function escapeMounted(path: string): string {
  return path.replaceAll(
    /[ \t\n\\]/g,
    (char) => `\\0${char.charCodeAt(0).toString(8).padStart(2, '0')}`,
  )
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

/** Neither what is in there nor that it could be replaced: not even its owner may change its mode. */
function hide(path: string, folder: boolean, show: Mount | null): Mount {
  if (!folder) return mountOn('--ro-bind', path, '/dev/null')
  const shown = show !== null && isWithin(show.path, path) ? show.words : []
  return { path, words: ['--perms', '0111', '--tmpfs', path, ...shown, '--remount-ro', path] }
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
export function chooseDirectory({ cwd, tmp }: SandboxPlaces): string {
  const replaced = ['/run', '/tmp', tmp].some((folder) => isWithin(cwd, folder))
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
