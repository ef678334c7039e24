import { readOptions } from '../shell/options.ts'
import { absoluteNames, fitsEveryName, pathNames, Text } from '../shell/text.ts'
import type { Caught, Rule, SeenCommand, Places } from './rule.ts'

/** Programs that remove folders as `rm -r` does, without being asked to. */
const alwaysRecursive = new Set(['rimraf', 'trash', 'trash-put', 'del-cli', 'del', 'srm'])

export const rmCritical: Rule = {
  name: 'rm-critical',
  decision: 'deny',
  instead: 'Remove a named folder inside the project, such as `rm -rf ./dist`.',
  holdsFor: 'everyone',
  check(command) {
    const targets = removed(command)
    if (!targets) return null
    const protectedFolders = listProtected(command.places)
    let doubt: Caught | null = null
    for (const target of targets.paths) {
      const caught = criticalTarget(target, command.places, protectedFolders)
      if (caught?.certain && targets.certain) return caught
      if (caught) doubt ??= { ...caught, certain: false }
    }
    return doubt
  },
}

/** What the command removes recursively; null: nothing. */
function removed({ name, args }: SeenCommand): { paths: readonly Text[]; certain: boolean } | null {
  if (alwaysRecursive.has(name) || (name === 'gio' && args[0]?.is('trash'))) {
    return { paths: operandsOf(args), certain: true }
  }
  if (name === 'rsync') return emptiedByRsync(args)
  if (name !== 'rm') return null
  const options = readOptions(args, {
    longFlags:
      'recursive force interactive one-file-system no-preserve-root preserve-root dir verbose',
  })
  const { operands } = options
  if (options.unknownFlags.length > 0) return { paths: operands, certain: false }
  if (options.has('r', 'R', 'recursive')) {
    return { paths: operands, certain: true }
  }
  // An unknown or globbed word in front may turn out to be an option.
  const isDoubtful = operands.some((word) => !word.isKnown && word.beginsWith('*?[uogn'))
  const named = operands.filter((word) => word.isKnown && !word.isGlob)
  return isDoubtful ? { paths: named, certain: false } : null
}

const operandsOf = (args: readonly Text[]): Text[] => args.filter((word) => !word.startsWith('-'))

/** `rsync --delete empty/ folder`: what is not in the source is removed from the folder. */
function emptiedByRsync(args: readonly Text[]): ReturnType<typeof removed> {
  const has = (pattern: RegExp): boolean => args.some((word) => word.test(pattern))
  if (has(/^-\w*n|^--dry-run/) || !has(/^--del/)) return null
  const sources = readOptions(args, { shortValues: 'efBMT' }).operands.slice()
  const target = sources.pop()
  // On another machine the folders of this one mean nothing.
  if (!target || target.test(/^[^/]*:/)) return null
  const isWhole = sources.some((source) => source.test(/(?:^|\/)\.?$/))
  return isWhole ? { paths: [target], certain: true } : null
}

/** Folders of a system whose loss breaks it. Sources: hier(7), and macOS's file-system overview. */
const systemFolders =
  `
/bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /media /mnt /opt /proc /root /run /sbin /srv
/sys /tmp /usr /var /nix /snap
/usr/bin /usr/sbin /usr/lib /usr/lib32 /usr/lib64 /usr/libexec /usr/local /usr/share /usr/include
/usr/local/bin /usr/local/lib /usr/local/sbin /usr/local/share /usr/lib/systemd /usr/lib/x86_64-linux-gnu
/usr/lib/aarch64-linux-gnu
/var/lib /var/log /var/cache /var/spool /var/mail /var/www /var/db /var/backups /var/tmp /var/lib/dpkg /var/lib/docker
/var/lib/postgresql /var/lib/mysql /nix/store
/etc/ssh /etc/ssl /etc/systemd /etc/apt /etc/pam.d /etc/init.d /etc/network /etc/default /etc/security
/Applications /Library /System /Users /Volumes /private /private/etc /private/var /cores /opt/homebrew
`.match(/\S+/g) ?? []

/** Emptying these is ordinary cleaning; removing them is not. */
const scratchFolders = new Set(['/tmp', '/var/tmp', '/var/cache', '/run', '/media', '/mnt'])

/** Below these nothing is a project's. */
const systemTrees = new Set('bin sbin boot lib lib32 lib64 proc sys System'.split(' '))

/** What a home cannot get back from a package manager. */
const homeFolders =
  '.ssh .gnupg .config .local .local/share .aws .kube .password-store Documents Desktop Downloads Pictures Music Videos Movies Library'.split(
    ' ',
  )

/** A folder that a project cannot lose: the names of its path, and what it is. */
type Protected = readonly [names: readonly string[], what: string]

function listProtected({ start, home }: Places): Protected[] {
  const startNames = namesOf(start)
  const above = startNames.map((_, at): Protected => [
    startNames.slice(0, at + 1),
    at + 1 === startNames.length ? 'the working directory' : 'a folder above the working directory',
  ])
  const inHome = homeFolders.map((folder): Protected => [
    [...namesOf(home), ...folder.split('/')],
    'a folder of a home',
  ])
  const ofSystem = systemFolders.map((path): Protected => [namesOf(path), 'a system folder'])
  return [
    [[], 'the root folder'],
    [namesOf(home), 'a home folder'],
    [['root'], 'a home folder'],
    ...above,
    ...inHome,
    ...ofSystem,
  ]
}

/**
 * Whether the recursive removal of `path` takes away more than a project can lose: the root, a home,
 * the directory of the request or one above it, `.git`, a system folder, or everything in one of them.
 */
function criticalTarget(
  path: Text,
  places: Places,
  protectedFolders: readonly Protected[],
): Caught | null {
  if (path.length === 0) return null
  const start = namesOf(places.start)
  for (const directory of places.directories) {
    const certain = path.isKnown && (path.startsWith('/') || directory.isKnown)
    if (!path.isKnown && !path.isGlob && path.test(/^[…/.]*$/)) {
      return { does: 'removes a folder recursively that is not known before the run', certain }
    }
    // An unknown value may be empty: `$X/*` is then `/*`.
    const parts = absoluteNames(path.withUnknownEmpty(), directory.withUnknownEmpty())
    const reason = criticalParts(parts, start, protectedFolders)
    if (reason === null) {
      const last = parts.at(-1)
      const mayBeGit = last?.isGlob && last.startsWith('.') && last.matches('.git')
      if (!mayBeGit || !path.isKnown || isOthers(parts.slice(0, -1), start)) continue
      return { does: `may remove a .git folder, by "${path.chars}"`, certain: false }
    }
    // What lies in a scratch folder may be removed, and an unknown name is likely to be there.
    if (!certain && scratchFolders.has(path.chars.replace(/\/+[^/]*$/, ''))) continue
    const does = certain
      ? `removes ${reason} recursively`
      : `may remove ${reason} recursively, since "${path.chars}" is not known before the run`
    return { does, certain }
  }
  return null
}

const isEverything = (part: Text): boolean => part.isGlob && fitsEveryName(part)

/** `.*`, `.[!.]*`, `.??*`: the hidden names, `.git` among them. */
const isEveryHidden = (part: Text): boolean => part.isGlob && part.test(/^\.+[*?[\]…!.^]*$/)

function criticalParts(
  parts: readonly Text[],
  start: readonly string[],
  protectedFolders: readonly Protected[],
): string | null {
  const last = parts.at(-1)
  const parent = parts.slice(0, -1)
  if (last?.is('.git')) return isOthers(parent, start) ? null : 'a .git folder'
  if (parent.at(-1)?.is('.git') && last?.test(/^(?:objects|refs|HEAD)$/))
    return 'the history in .git'
  if (!last || !(isEverything(last) || isEveryHidden(last))) {
    return criticalFolder(parts, protectedFolders)
  }
  if (parent.at(-1)?.is('.git')) return 'everything in a .git folder'
  let folder = parent
  for (let end = folder.at(-1); end && isEverything(end); end = folder.at(-1)) {
    folder = folder.slice(0, -1)
  }
  const reason = criticalFolder(folder, protectedFolders)
  return reason && !scratchFolders.has(join(folder)) ? `everything in ${reason}` : null
}

const join = (parts: readonly Text[]): string => `/${Text.join(parts, '/').chars}`

const namesOf = (path: string): string[] => pathNames(new Text(path)).map(({ chars }) => chars)

function criticalFolder(
  parts: readonly Text[],
  protectedFolders: readonly Protected[],
): string | null {
  const [first = '', second = ''] = parts.map(({ chars }) => chars)
  if (parts.length === 2 && (first === 'home' || first === 'Users'))
    return `${join(parts)} (a home folder)`
  if (systemTrees.has(first) || (first === 'dev' && second !== 'shm'))
    return `${join(parts)} (a system folder)`
  const [names, what] = protectedFolders.find(([folder]) => fits(parts, folder)) ?? []
  return names ? `/${names.join('/')} (${what})` : null
}

function fits(parts: readonly Text[], names: readonly string[]): boolean {
  if (parts.length !== names.length) return false
  return parts.every((part, index) => {
    const name = names[index] ?? ''
    if (!part.isGlob && part.isKnown) return part.is(name)
    if (name.startsWith('.') && !part.startsWith('.')) return false
    return part.matches(name)
  })
}

/** Folders whose content comes from elsewhere, or is made: a repository in them is not the project's. */
const othersFolders = new Set(
  `vendor third_party third-party thirdparty external externals deps node_modules bower_components Pods
  dist build out target coverage .cache .next .nuxt .venv venv tmp temp`.split(/\s+/),
)

/** Whether a folder is not the work of this project: below such a folder, or a temporary one. */
function isOthers(folder: readonly Text[], start: readonly string[]): boolean {
  const isBelow = start.every((name, at) => folder[at]?.is(name))
  return folder.slice(isBelow ? start.length : 0).some(({ chars }) => othersFolders.has(chars))
}
