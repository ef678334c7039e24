import { readOptions } from '../shell/options.ts'
import { baseName, Text, absoluteNames, pathNames } from '../shell/text.ts'
import type { Caught, Rule, SeenCommand, Places } from './rule.ts'

/** Programs that remove folders as `rm -r` does, without being asked to. */
const alwaysRecursive = new Set(['rimraf', 'trash', 'trash-put', 'del-cli', 'del', 'srm'])

export const rmCritical: Rule = {
  name: 'rm-critical',
  decision: 'deny',
  instead: 'Remove a named folder inside the project, such as `rm -rf ./dist`.',
  holdsFor: 'everyone',
  examples: {
    match: ['rm -rf /', 'rm -fr ~', 'sudo rm -r --force "$HOME"/', 'find . -delete', 'rm -rf .git'],
    pass: [
      'rm -rf node_modules',
      'rm -f .git/index.lock',
      "rm -rf '*'",
      'find . -name "*.o" -delete',
    ],
  },
  check(command) {
    const targets = removed(command)
    if (!targets) return null
    let doubt: Caught | null = null
    for (const target of targets.paths) {
      const caught = criticalTarget(target, command.places)
      if (caught?.certain && targets.certain) return caught
      if (caught) doubt ??= { ...caught, certain: false }
      else if (mayTakeGit(target, command.places)) {
        doubt ??= { does: `may remove a .git folder, by "${target.chars}"`, certain: false }
      }
    }
    return doubt
  },
}

/** What the command removes recursively; null: nothing. */
function removed({ name, args }: SeenCommand): { paths: readonly Text[]; certain: boolean } | null {
  if (alwaysRecursive.has(name)) {
    return { paths: operandsOf(args), certain: true }
  }
  if (name === 'rsync') return emptiedByRsync(args)
  if (name === 'gio') {
    return args[0]?.is('trash') ? { paths: operandsOf(args.slice(1)), certain: true } : null
  }
  if (name !== 'rm') return null
  const options = readOptions(args, {
    longFlags:
      'recursive force interactive one-file-system no-preserve-root preserve-root dir verbose',
  })
  const { flags, operands } = options
  if (options.unknownFlags.length > 0) return { paths: operands, certain: false }
  // With an option that it does not know, rm does nothing.
  if (flags.some((flag) => flag.length === 1 && !'rRfiIdvxPW'.includes(flag))) return null
  if (options.has('r', 'R', 'recursive')) {
    return { paths: operands, certain: true }
  }
  // An unknown or globbed word in front may turn out to be an option.
  const isDoubtful = operands.some((word) => !word.isKnown && word.beginsWith('*?[uog'))
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
  const paths = sources.map((source) =>
    source.test(/(?:^|\/)\.?$/) ? target : Text.join([target, '/', baseName(source)]),
  )
  return { paths, certain: true }
}

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
function criticalTarget(path: Text, places: Places): Caught | null {
  if (path.length === 0) return null
  for (const directory of places.directories) {
    const certain = path.isKnown && (path.startsWith('/') || directory.isKnown)
    if (isOnlyUnknown(path)) {
      return { does: 'removes a folder recursively that is not known before the run', certain }
    }
    // An unknown value may be empty: `$X/*` is then `/*`.
    const reason = criticalParts(
      absoluteNames(path.withUnknownEmpty(), directory.withUnknownEmpty()),
      places,
    )
    if (reason === null) continue
    // What lies in a scratch folder may be removed, and an unknown name is likely to be there.
    if (!certain && scratchFolders.has(path.chars.replace(/\/+[^/]*$/, ''))) continue
    const does = certain
      ? `removes ${reason} recursively`
      : `may remove ${reason} recursively, since "${path.chars}" is not known before the run`
    return { does, certain }
  }
  return null
}

const isOnlyUnknown = (path: Text): boolean =>
  !path.isKnown && !path.isGlob && path.test(/^[…/.]*$/)

const isEverything = (part: Text): boolean =>
  part.isGlob && ordinaryNames.every((name) => part.matches(name))

/** `.*`, `.[!.]*`, `.??*`: the hidden names, `.git` among them. */
const isEveryHidden = (part: Text): boolean => part.isGlob && part.test(/^\.+[*?[\]…!.^]*$/)

function criticalParts(parts: readonly Text[], places: Places): string | null {
  const start = namesOf(places.start)
  const last = parts.at(-1)
  if (last === undefined) return '/ (the root folder)'
  const parent = parts.slice(0, -1)
  if (last.is('.git')) return isOthers(parent, start) ? null : 'a .git folder'
  if (isEverything(last) || isEveryHidden(last)) {
    if (parent.at(-1)?.is('.git')) return 'everything in a .git folder'
    let folder = parent
    for (let end = folder.at(-1); end && isEverything(end); end = folder.at(-1)) {
      folder = folder.slice(0, -1)
    }
    const reason = criticalFolder(folder, start, places)
    return reason && !scratchFolders.has(join(folder).chars) ? `everything in ${reason}` : null
  }
  if (parent.at(-1)?.is('.git') && last.test(/^(?:objects|refs|HEAD)$/))
    return 'the history in .git'
  return criticalFolder(parts, start, places)
}

const join = (parts: readonly Text[]): Text => Text.join(['/', Text.join(parts, '/')])

const namesOf = (path: string): string[] => pathNames(new Text(path)).map(({ chars }) => chars)

function criticalFolder(
  parts: readonly Text[],
  start: readonly string[],
  places: Places,
): string | null {
  if (parts.length === 0) return '/ (the root folder)'
  const path = join(parts)
  const [first = '', second = ''] = parts.map(({ chars }) => chars)
  const homes = namesOf(places.home)
  if (fits(parts, homes) || fits(parts, ['root'])) return `${path.chars} (a home folder)`
  if (parts.length === 2 && (first === 'home' || first === 'Users'))
    return `${path.chars} (a home folder)`
  if (parts.length <= start.length && fits(parts, start.slice(0, parts.length))) {
    const isStart = parts.length === start.length
    return `${path.chars} (${isStart ? 'the working directory' : 'a folder above the working directory'})`
  }
  if (start.length >= parts.length - 1 && fits(parts, [...start, '.git']) && path.isGlob)
    return 'a .git folder'
  if (parts.length > homes.length && fits(parts.slice(0, homes.length), homes)) {
    const below = parts.slice(homes.length)
    const found = homeFolders.find((folder) => fits(below, folder.split('/')))
    if (found) return `~/${found}`
  }
  if (systemTrees.has(first) || (first === 'dev' && second !== 'shm'))
    return `${path.chars} (a system folder)`
  if (first === 'mnt' && parts.length === 2 && /^[a-z]$/.test(second))
    return `${path.chars} (a mounted drive)`
  if (!path.isGlob) return system.has(path.chars) ? `${path.chars} (a system folder)` : null
  const hit = [...system].find((folder) => fits(parts, namesOf(folder)))
  return hit ? `${hit} (a system folder)` : null
}

function fits(parts: readonly Text[], names: readonly string[]): boolean {
  if (parts.length !== names.length) return false
  return parts.every((part, index) => {
    const name = names[index] ?? ''
    if (!part.isGlob && part.isKnown) return part.is(name)
    if (name.startsWith('.') && !part.startsWith('.')) return false
    return !isBare(part) && part.matches(name)
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
  if (!isBelow && folder.length <= start.length && fits(folder, start.slice(0, folder.length))) {
    return false
  }
  return folder.slice(isBelow ? start.length : 0).some(({ chars }) => othersFolders.has(chars))
}

/** Whether a glob takes a `.git` with it that may be there: `foo/.*`, `foo/.g*`. */
function mayTakeGit(path: Text, places: Places): boolean {
  return places.directories.some((directory) => {
    const parts = absoluteNames(path, directory)
    const last = parts.pop()
    if (!last?.isGlob || !last.isKnown || !last.startsWith('.') || !last.matches('.git'))
      return false
    return !isOthers(parts, namesOf(places.start))
  })
}

/** A lone `*` in the middle of a path: some folder, no matter which. */
const isBare = (part: Text): boolean => part.isOnly('*u') || (part.length === 1 && part.isOnly('?'))
