import { closeSync, lstatSync, realpathSync, statSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { StartError } from '../../protocol/ports.ts'
import {
  type FixedFolder,
  fixFolder,
  ifSeen,
  isWithin,
  lookAtLink,
  lookIntoFile,
  lookIntoFolder,
  openFixed,
  readRegularFile,
} from '../../system/look.ts'
import type { Request } from '../../protocol/request/request.ts'
import { type HiddenPlace, hideInHome, secretPaths } from './home-places.ts'
import type { HostRunFiles, HostRunPlace } from './host-run-files.ts'

/** Where a sandboxed run may work. Every path is canonical and exists. */
export interface WorkPlaces {
  workspace: string
  /** The folders in which the run may write, none inside another. Empty: nowhere. */
  writable: string[]
  /** Those folders, else the workspace, as they were found; the workspace as it was when its door opened. */
  fixed: readonly FixedFolder[]
  /** What programs of the host run later on their own: not writable inside of the workspace. */
  hostRun: HostRunFiles
  /** Where temporary files go: private to the sandbox, whatever is there outside. */
  tmp: string
  /** The directory of the run, as `cd` would name it. */
  cwd: string
}

/** What a sandboxed shell is started with. */
export interface SandboxPlaces extends WorkPlaces {
  hidden: HiddenPlace[]
}

export interface PlacesOptions {
  /** Workspaces that were fixed when a door opened, by their names. */
  folders: ReadonlyMap<string, FixedFolder>
  /** Where secrets are looked for: `$HOME`, and the home that the system knows. */
  homes: readonly string[]
  /**
   * Folders that a run in mode `workspace` may write beside its workspace, and files and folders
   * inside of it that it may write though programs of the host run them.
   */
  writable: readonly string[]
  /** Files and folders that no run may see beside the secrets of the home. */
  hidden: readonly string[]
  /** Files and folders of the home that runs may see, though no table names them or though they are secrets. */
  visible: readonly string[]
  /** What is the same for every run in one workspace. */
  hostRun: (place: Pick<HostRunPlace, 'workspace' | 'gitStores' | 'declared'>) => HostRunFiles
}

/**
 * Finds out where a request may work. Throws `StartError` if its directory lies outside of its
 * workspace, or if a named folder does not exist.
 */
export function findWorkPlaces(request: Request, options: PlacesOptions): WorkPlaces {
  const cwd = realpathSync.native(request.cwd)
  const named = request.workspace ?? request.cwd
  const root = options.folders.get(named) ?? fix(named)
  const workspace = root.path
  closeSync(openRoot(root))
  if (workspace === '/') {
    const message = 'The workspace is the whole file system: name a folder with --workspace'
    throw new StartError('workspace_too_wide', message)
  }
  const writes = request.sandbox === 'workspace'
  if (writes && options.homes.flatMap(findExisting).some((home) => isWithin(home, workspace))) {
    const message = `The workspace holds your home, in which programs outside of the sandbox run many files: name a folder below ${workspace} with --workspace, or use --sandbox read-only`
    throw new StartError('workspace_too_wide', message)
  }
  if (!isWithin(cwd, workspace)) {
    const message = `Working directory is outside the workspace: ${request.cwd}`
    throw new StartError('cwd_outside_workspace', message)
  }
  const declared = options.writable.map((path) => findExisting(path)[0] ?? path)
  const stores = writes ? findWorktreeStore(workspace) : []
  const writable = writes ? findWritable(workspace, stores, declared) : []
  return {
    workspace,
    writable,
    fixed: writes ? writable.map((path) => (path === workspace ? root : fix(path))) : [root],
    hostRun: writes ? options.hostRun({ workspace, gitStores: stores, declared }) : nothingToRun,
    tmp: findFolder('/tmp'),
    cwd: request.cwd,
  }
}

/**
 * Adds what a shell that is started there may not see. Throws `StartError` if nothing can run, as all is
 * hidden.
 */
export function hidePlaces(work: WorkPlaces, options: PlacesOptions): SandboxPlaces {
  const homes = [...new Set(options.homes.flatMap(findExisting))].filter((home) => home !== '/')
  const visible = options.visible.flatMap(findExisting)
  const secrets = homes
    .flatMap((home) => secretPaths.map((path) => join(home, path)))
    .flatMap(findExisting)
    .filter((path) => !visible.some((place) => isWithin(path, place)))
  const named = [...secrets, ...options.hidden.flatMap(findExisting)]
    .filter(isReachable)
    .map((path) => ({
      path,
      folder: statSync(path).isDirectory(),
      shown: secrets.includes(path) ? visible.filter((place) => isWithin(place, path)) : [],
    }))
  const own = [realpathSync.native(work.cwd), work.workspace]
  const around = named.find(({ path }) => own.some((place) => isWithin(place, path)))
  if (around) {
    throw new StartError('cwd_hidden', `The sandbox hides ${around.path}, so nothing can run there`)
  }
  const open = [work.workspace, ...work.writable, ...visible]
  const ofHomes = homes
    .filter((home) => isReachable(join(home, '.config')))
    .flatMap((home) => hideInHome(home, open))
  const places = [...new Map([...ofHomes, ...named].map((place) => [place.path, place])).values()]
  const hidden = places.filter(
    (place) => !places.some((other) => other !== place && isHiddenBy(place.path, other)),
  )
  const elsewhere = [...work.writable, ...hidden.map(({ path }) => path)]
  return { ...work, hidden: [...hidden, ...findSockets(elsewhere)] }
}

function isHiddenBy(path: string, { path: folder, shown }: HiddenPlace): boolean {
  return isWithin(path, folder) && !shown.some((place) => isWithin(path, place))
}

/** A run that writes nothing leaves nothing to be run. */
const nothingToRun: HostRunFiles = {
  enter: () => undefined,
  run: () => () => undefined,
  listPresent: () => [],
  leave: () => undefined,
  close: () => undefined,
  takeNotices: () => [],
}

/** `home`: `$HOME`, or null if that is not set. */
export function findHomes(home: string | null): string[] {
  // Null: the system does not know this user (getpwuid(3)).
  const ofAccount = ifSeen(() => userInfo().homedir)
  return [...new Set([home ?? homedir(), ofAccount ?? []].flat())]
}

const findFolder = (path: string): string => fix(path).path

function fix(path: string): FixedFolder {
  const found = fixFolder(path)
  if (found) return found
  const message = `The sandbox is to open a folder that does not exist: ${path}`
  throw new StartError('workspace_not_found', message)
}

/** Throws `StartError` if it is not there any more. */
export function openRoot(folder: FixedFolder): number {
  const fd = openFixed(folder)
  if (fd !== null) return fd
  const message = `The workspace ${folder.path} was removed, renamed or replaced after nacre had started: put it back, or start nacre anew`
  throw new StartError('workspace_replaced', message)
}

/** The canonical path, or nothing. */
function findExisting(path: string): string[] {
  // An exception for each place that is not there would take longer than everything else.
  const found = ifSeen(() => statSync(path, { throwIfNoEntry: false }) && realpathSync.native(path))
  return found ? [found] : []
}

function findWritable(
  workspace: string,
  stores: readonly string[],
  declared: readonly string[],
): string[] {
  const beside = declared.filter((path) => !isWithin(path, workspace)).map(findFolder)
  return outermost([workspace, ...stores, ...beside])
}

/**
 * The sockets that have a name in the file system (unix(7)), in any network namespace, if they are neither the run's own
 * to use nor hidden already. Whoever may write to one can talk to its program, also from a read-only mount and from
 * another network namespace.
 */
function findSockets(elsewhere: readonly string[]): HiddenPlace[] {
  const processes = listOwnProcesses()
  const tables = new Map([[lookAtLink('/proc/self/ns/net'), lookIntoFile('/proc/net/unix') ?? '']])
  for (const process of processes) {
    const network = lookAtLink(`${process}/ns/net`)
    if (network === null || tables.has(network)) continue
    const table = lookIntoFile(`${process}/net/unix`)
    if (table !== null) tables.set(network, table)
  }
  const named = [...tables.values()].flatMap((table) => [
    ...table.matchAll(/^[0-9a-f]+: (?:\S+ +){6}([^@\n].*)$/gm),
  ])
  const names = [...new Set(named.map(([, name = '']) => name))]
  // A relative name is relative to where its process was then; the kernel shows only where processes are now.
  const isRelative = (name: string) => !name.startsWith('/')
  const folders = new Set(
    names.some(isRelative) ? processes.map((process) => lookAtLink(`${process}/cwd`) ?? '/') : [],
  )
  const paths = names.flatMap((name) =>
    isRelative(name) ? [...folders].map((folder) => join(folder, name)) : [name],
  )
  return (
    [...new Set(paths)]
      // The name may be gone, or belong to another view of the file system.
      .filter((path) => ifSeen(() => statSync(path, { throwIfNoEntry: false })?.isSocket()))
      .flatMap(findExisting)
      .filter((path) => !elsewhere.some((folder) => isWithin(path, folder)) && isReachable(path))
      .map((path) => ({ path, folder: false, shown: [] }))
  )
}

/** The kernel shows nothing of the others (ptrace(2), PTRACE_MODE_READ). */
function listOwnProcesses(): string[] {
  const user = process.geteuid?.()
  return lookIntoFolder('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => `/proc/${name}`)
    .filter((path) => user === 0 || statSync(path, { throwIfNoEntry: false })?.uid === user)
}

/**
 * Whether what runs in the sandbox might get as far as `path`, which is canonical and existed a moment ago. Root
 * gives up its power over the files of others there (capabilities(7), CAP_DAC_OVERRIDE), bwrap as
 * well: in a private folder of another user there is nothing to hide, and no mount can be made.
 * If an access list lets somebody in, the mode shows that as a right of the group (acl(5)).
 */
function isReachable(path: string): boolean {
  if (process.geteuid?.() !== 0) return true
  for (let folder = dirname(path); folder !== '/'; folder = dirname(folder)) {
    const stat = statSync(folder, { throwIfNoEntry: false })
    if (stat === undefined) return false
    const mayEnter = stat.uid === 0 ? 0o111 : 0o011
    if ((stat.mode & mayEnter) === 0) return false
  }
  return true
}

/** Leaves out paths that lie inside another one. */
function outermost(paths: readonly string[]): string[] {
  return [...new Set(paths)].filter(
    (path) => !paths.some((other) => other !== path && isWithin(path, other)),
  )
}

/**
 * Where the commits of a linked git worktree go (gitrepository-layout(5)). Anything can be written
 * into a `.git` file, so it counts only if that store names this worktree too.
 */
function findWorktreeStore(workspace: string): string[] {
  const link = join(workspace, '.git')
  try {
    if (!lstatSync(link).isFile()) return []
    const named = /^gitdir: (.+)$/m.exec(readRegularFile(link))?.[1] ?? ''
    const own = realpathSync(resolve(workspace, named))
    const back = readRegularFile(join(own, 'gitdir')).trim()
    const isMutual = basename(dirname(own)) === 'worktrees' && realpathSync(back) === link
    return isMutual ? [dirname(dirname(own))] : []
  } catch {
    // Not a worktree, or a broken one: git will say so.
    return []
  }
}
