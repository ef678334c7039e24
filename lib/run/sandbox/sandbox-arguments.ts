import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { isWithin } from './paths.ts'
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

/**
 * The words of bwrap(1) that give a run its view of the file system, and those of a check that goes before
 * its command. Only places that exist are
 * mounted on, so that bwrap makes nothing through a symbolic link that a command has put in its way
 * (CVE-2026-87766), or places on a file system that is as new as the run.
 */
export function composeMounts(mounts: SandboxMounts): { words: string[]; check: () => string[] } {
  const { places, privateTmp, artifacts, share, runFiles } = mounts
  const open = places.writable.length > 0 ? places.writable : [places.workspace]
  const bind = places.writable.length > 0 ? '--bind' : '--ro-bind'
  const hidden = places.hidden.filter(({ path }) => !isLost(path, places))
  const hostRun = places.hostRun.present
  const show = artifacts && {
    path: artifacts.path,
    words: ['--ro-bind', artifacts.source, artifacts.path],
  }
  const lost = show !== null && isLost(show.path, places) ? [show] : []
  const pins = pinAbove([...hidden.map(({ path }) => path), ...hostRun], places.writable, hostRun)
  const list: Mount[] = [
    { path: '/dev', words: ['--dev', '/dev'] },
    { path: '/proc', words: ['--proc', '/proc'] },
    // Not covered by what bwrap protects: root may write there without any capability.
    { path: '/proc/sys', words: ['--ro-bind', '/proc/sys', '/proc/sys'] },
    { path: '/run', words: ['--tmpfs', '/run'] },
    ...runFiles.map((path) => ({ path, words: ['--ro-bind', path, path] })),
    ...openTmp(places, privateTmp, [...open, ...lost.map(({ path }) => path)]),
    ...lost,
    ...open.map((path) => ({ path, words: [bind, path, path] })),
    ...pins,
    ...hostRun.map((path) => ({ path, words: ['--ro-bind', path, path] })),
    ...hidden.map(({ path, folder }) => hide(path, folder, show)),
  ]
  if (share !== null) {
    list.push({ path: sharedFolder, words: ['--ro-bind', share, sharedFolder] })
  }
  // Stable: what contains another place comes first.
  list.sort((one, other) => depth(one.path) - depth(other.path))
  const words = ['--ro-bind', '/', '/', ...list.flatMap(({ words }) => words)]
  return {
    words,
    check: () => check([...pins.map(({ path }) => path), ...hostRun], places.writable),
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
function check(mounted: readonly string[], writable: readonly string[]): string[] {
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

function depth(path: string): number {
  return path.split('/').length
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
  const pins = [...above].map((path) => ({
    path,
    words: ['--ro-bind', join(source, relative(tmp, path)), path],
  }))
  return [{ path: tmp, words: ['--bind', source, tmp] }, ...pins]
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
  const shown = show !== null && isWithin(show.path, path) ? show.words : []
  const words = folder
    ? ['--perms', '0111', '--tmpfs', path, ...shown, '--remount-ro', path]
    : ['--ro-bind', '/dev/null', path]
  return { path, words }
}

/**
 * Folders between a writable place and what is mounted in it are mounts too: a mount cannot be
 * renamed. In what is read-only anyway there is nothing to pin.
 */
function pinAbove(
  paths: readonly string[],
  writable: readonly string[],
  readOnly: readonly string[],
): Mount[] {
  const pins = new Set<string>()
  for (const path of paths) {
    const root = writable.find((folder) => isWithin(path, folder))
    for (const folder of root === undefined ? [] : foldersBetween(root, path)) pins.add(folder)
  }
  return [...pins]
    .filter((folder) => !readOnly.some((path) => isWithin(folder, path)))
    .map((folder) => ({ path: folder, words: ['--bind', folder, folder] }))
}
