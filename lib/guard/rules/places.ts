import {
  anyCharacter,
  anyText,
  isGlob,
  isKnown,
  matchesGlob,
  shown,
  withUnknownEmpty,
} from '../shell/marked-text.ts'
import { absoluteNames, pathNames } from '../shell/path.ts'
import type { Caught, Places } from './rule.ts'

/** Folders of a system whose loss breaks it. Sources: hier(7), and macOS's file-system overview. */
const systemFolders = `
/bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /media /mnt /opt /proc /root /run /sbin /srv
/sys /tmp /usr /var /nix /snap
/usr/bin /usr/sbin /usr/lib /usr/lib32 /usr/lib64 /usr/libexec /usr/local /usr/share /usr/include
/usr/local/bin /usr/local/lib /usr/local/sbin /usr/local/share /usr/lib/systemd /usr/lib/x86_64-linux-gnu
/usr/lib/aarch64-linux-gnu
/var/lib /var/log /var/cache /var/spool /var/mail /var/www /var/db /var/backups /var/tmp /var/lib/dpkg /var/lib/docker
/var/lib/postgresql /var/lib/mysql /nix/store
/etc/ssh /etc/ssl /etc/systemd /etc/apt /etc/pam.d /etc/init.d /etc/network /etc/default /etc/security
/Applications /Library /System /Users /Volumes /private /private/etc /private/var /cores /opt/homebrew
`.match(/\S+/g)

/** Emptying these is ordinary cleaning; removing them is not. */
const scratchFolders = new Set(['/tmp', '/var/tmp', '/var/cache', '/run', '/media', '/mnt'])

/** Below these nothing is a project's. */
const systemTrees = new Set('bin sbin boot lib lib32 lib64 proc sys System'.split(' '))

/** What a home cannot get back from a package manager. */
const homeFolders =
  '.ssh .gnupg .config .local .local/share .aws .kube .password-store Documents Desktop Downloads Pictures Music Videos Movies Library'.split(
    ' ',
  )

const system = new Set(systemFolders)

/** Names that a glob is tried on: one that fits them all leaves nothing behind. */
const ordinaryNames = ['src', 'README.md', 'package.json', 'a', 'node_modules']

/**
 * Whether the recursive removal of `path` takes away more than a project can lose: the root, a home,
 * the directory of the request or one above it, `.git`, a system folder, or everything in one of them.
 */
export function criticalTarget(path: string, places: Places): Caught | null {
  if (path === '') return null
  for (const directory of places.directories) {
    const certain = isKnown(path) && (path.startsWith('/') || isKnown(directory))
    if (isOnlyUnknown(path)) {
      return { does: 'removes a folder recursively that is not known before the run', certain }
    }
    // An unknown value may be empty: `$X/*` is then `/*`.
    const reason = criticalParts(
      absoluteNames(withUnknownEmpty(path), withUnknownEmpty(directory)),
      places,
    )
    if (reason === null) continue
    // What lies in a scratch folder may be removed, and an unknown name is likely to be there.
    if (!certain && scratchFolders.has(path.replace(/\/+[^/]*$/, ''))) continue
    const does = certain
      ? `removes ${reason} recursively`
      : `may remove ${reason} recursively, since "${shown(path)}" is not known before the run`
    return { does, certain }
  }
  return null
}

const isOnlyUnknown = (path: string): boolean =>
  !/[^\uF8E2\uF8E3\uF8E6/.]/.test(path) && !isKnown(path)

const isEverything = (part: string): boolean =>
  isGlob(part) && ordinaryNames.every((name) => matchesGlob(part, name))

/** `.*`, `.[!.]*`, `.??*`: the hidden names, `.git` among them. */
const isEveryHidden = (part: string): boolean =>
  part.startsWith('.') && isGlob(part) && /^\.+[\uF8E0-\uF8E5!.^]*$/.test(part)

function criticalParts(parts: readonly string[], places: Places): string | null {
  const start = pathNames(places.start)
  const last = parts.at(-1)
  if (last === undefined) return '/ (the root folder)'
  if (last === '.git') return 'a .git folder'
  const parent = parts.slice(0, -1)
  if (isEverything(last) || isEveryHidden(last)) {
    if (parent.at(-1) === '.git') return 'everything in a .git folder'
    let folder = parent
    while (folder.length > 0 && isEverything(folder.at(-1) ?? '')) folder = folder.slice(0, -1)
    const reason = criticalFolder(folder, start, places)
    return reason && !scratchFolders.has(join(folder)) ? `everything in ${reason}` : null
  }
  if (parent.at(-1) === '.git' && /^(?:objects|refs|HEAD)$/.test(last)) return 'the history in .git'
  return criticalFolder(parts, start, places)
}

const join = (parts: readonly string[]): string => `/${parts.join('/')}`

function criticalFolder(
  parts: readonly string[],
  start: readonly string[],
  places: Places,
): string | null {
  if (parts.length === 0) return '/ (the root folder)'
  const path = join(parts)
  const [first = '', second] = parts
  const homes = pathNames(places.home)
  if (fits(parts, homes) || fits(parts, ['root'])) return `${shown(path)} (a home folder)`
  if (parts.length === 2 && (first === 'home' || first === 'Users'))
    return `${shown(path)} (a home folder)`
  if (parts.length <= start.length && fits(parts, start.slice(0, parts.length))) {
    const isStart = parts.length === start.length
    return `${shown(path)} (${isStart ? 'the working directory' : 'a folder above the working directory'})`
  }
  if (start.length >= parts.length - 1 && fits(parts, [...start, '.git']) && isGlob(path))
    return 'a .git folder'
  if (parts.length > homes.length && fits(parts.slice(0, homes.length), homes)) {
    const below = parts.slice(homes.length)
    const found = homeFolders.find((folder) => fits(below, folder.split('/')))
    if (found) return `~/${found}`
  }
  if (systemTrees.has(first) || (first === 'dev' && second !== 'shm'))
    return `${shown(path)} (a system folder)`
  if (first === 'mnt' && parts.length === 2 && /^[a-z]$/.test(second ?? ''))
    return `${shown(path)} (a mounted drive)`
  if (!isGlob(path)) return system.has(path) ? `${path} (a system folder)` : null
  const hit = [...system].find((folder) => fits(parts, pathNames(folder)))
  return hit ? `${hit} (a system folder)` : null
}

function fits(parts: readonly string[], names: readonly string[]): boolean {
  if (parts.length !== names.length) return false
  return parts.every((part, index) => {
    const name = names[index] ?? ''
    if (!isGlob(part) && isKnown(part)) return part === name
    if (name.startsWith('.') && !part.startsWith('.')) return false
    return !isBare(part) && matchesGlob(part, name)
  })
}

/** A lone `*` in the middle of a path: some folder, no matter which. */
const isBare = (part: string): boolean =>
  part === anyText || part === anyCharacter || !/[^\uF8E0\uF8E2]/.test(part)
