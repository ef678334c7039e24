import {
  type FSWatcher,
  lstatSync,
  readdirSync,
  realpathSync,
  renameSync,
  type Stats,
  watch,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { messageOf } from '../../protocol/errors.ts'
import { createId } from '../../protocol/wire.ts'
import { ifSeen, isWithin, lookAtLink } from '../../system/look.ts'
import { createGitFolders, makeToHold, removeMade, within } from './git-folders.ts'
import { followGitSettings } from './git-settings.ts'
import { isPattern, isRefusedName, listTable, refused, told } from './host-run-names.ts'

/** The files of the host in one workspace, while runs in it live. */
export interface HostRunFiles {
  /**
   * To be called before what may write the workspace is started. `isIdle`: whether a shell that waits is all there is
   * of it.
   */
  enter(id: string, isIdle: () => boolean): void
  /** To be called when a run begins; the answer, when it has ended. */
  run(): () => void
  /** Gives the canonical paths that exist inside of the workspace: to be mounted read-only. */
  listPresent(): string[]
  /** To be called when that has ended, once or more. What it has made is refused. */
  leave(id: string): void
  /** All have ended, and no other comes. */
  close(): void
  /** What has been refused or changed since this was last called. */
  takeNotices(): string[]
}

export interface HostRunPlace {
  workspace: string
  /** Further git directories that the run may write (of a linked worktree). */
  gitStores: readonly string[]
  /** Canonical paths that the person lets the run write. */
  declared: readonly string[]
  /** The person's own configurations of git. */
  gitConfigs: readonly string[]
  /** What `~` is in these. */
  home: string
}

/** The workspace before a run could change it. */
interface Before {
  enteredMs: number
  /** What was at each place (`describe`): held if it was there, refused if not (null). */
  named: Record<string, string | null>
  told: Record<string, string>
  /** By file of git, there or not. */
  risks: Record<string, string[]>
  /** Whether these are of every repository below the workspace. */
  sawAll: boolean
}

/** The times of files are those of a clock that is this much behind at most. */
const behindMs = 20

export function findHostRunFiles(place: HostRunPlace): HostRunFiles {
  const { workspace, gitStores } = place
  const own = join(workspace, '.git')
  const lifted = place.declared.filter((path) => path !== workspace && isWithin(path, workspace))
  const isLifted = (path: string) => lifted.some((open) => isWithin(path, open))
  const isInside = (path: string) => path !== workspace && isWithin(path, workspace)
  const git = createGitFolders(workspace, gitStores)
  const living = new Map<string, () => boolean>()
  let running = 0
  /** Nothing in a sandbox acts: what is made now is the person's. */
  let isResting = false
  let before: Before = { enteredMs: 0, named: {}, told: {}, risks: {}, sawAll: false }
  let watchers: FSWatcher[] = []
  const notices: string[] = []
  /** Files of git that were made to be mounted on. */
  const made = new Set<string>()

  /** What the settings of git lead to. */
  function followSettings(): string[] {
    const configs = [own, ...gitStores].map((folder) => join(folder, 'config'))
    const reading = { workspace, home: place.home }
    return [...configs, ...place.gitConfigs]
      .flatMap((file) => followGitSettings(file, reading))
      .filter(isInside)
  }

  function lookBefore(): Before {
    const risks = git.listOwn()
    for (const path of Object.keys(risks)) if (!isLifted(path) && makeToHold(path)) made.add(path)
    const named = [...listTable(refused, workspace), ...followSettings(), ...Object.keys(risks)]
    const held = named.filter((path) => !isLifted(path))
    return {
      enteredMs: Date.now() - behindMs,
      named: Object.fromEntries(held.map((path) => [path, describe(path)])),
      told: Object.fromEntries(listTable(told, workspace).map((path) => [path, summarize(path)])),
      risks,
      sawAll: false,
    }
  }

  const listNamed = () => [
    ...Object.keys(before.named),
    ...listTable(refused.filter(isPattern), workspace).filter((path) => !isLifted(path)),
  ]

  function refusePlanted(): void {
    for (const path of new Set(listNamed())) {
      const [was = null, is] = [before.named[path], describe(path)]
      if (is === null || is === was || was === isThere) continue
      // The settings of a new repository are judged.
      if (path === own && look(own)?.isDirectory()) continue
      notices.push(refuse(path, workspace))
    }
  }

  function refuseGitFiles(): void {
    for (const [path, risks] of Object.entries({ ...git.listNested(), ...git.listOwn() })) {
      const known = before.risks[path]
      const added = risks.filter((risk) => !known?.includes(risk))
      if (added.length === 0 || isLifted(path)) continue
      const isHeld = (before.named[path] ?? null) !== null
      // For what the look before did not reach, there is only the time.
      const isOld = !known && !before.sawAll && changedMs(path) < before.enteredMs
      if (isHeld) notices.push(describeChange([path], workspace))
      else if (!isOld) notices.push(refuse(path, workspace))
      before.risks[path] = risks
    }
  }

  function findChanged(): void {
    const now = listTable(told, workspace).map((path) => [path, summarize(path)] as const)
    const changed = now.filter(
      ([path, is]) => is !== '' && is !== before.told[path] && !isLifted(path),
    )
    before.told = Object.fromEntries(now)
    const paths = changed.map(([path]) => path)
    if (paths.length > 0) notices.push(describeChange(paths, workspace))
  }

  /** While the sandbox is being made: nothing runs in it yet. */
  function lookAtNested(): void {
    if (living.size === 0) return
    for (const [path, risks] of Object.entries(git.listNested())) {
      if (changedMs(path) < before.enteredMs) before.risks[path] ??= risks
    }
    before.sawAll = git.sawAll
  }

  function begin(): void {
    before = lookBefore()
    const missing = Object.keys(before.named).filter((path) => before.named[path] === null)
    const folders = new Set([workspace, ...missing.map((path) => dirname(path))])
    watchers = [...folders].flatMap((folder) => watchFolder(folder))
    setImmediate(lookAtNested)
  }

  /** If the system has no watch left, there is the look at the end. */
  function watchFolder(folder: string): FSWatcher[] {
    const watcher =
      look(folder)?.isDirectory() && ifSeen(() => watch(folder, { persistent: false }))
    if (!watcher) return []
    watcher.on('error', () => watcher.close())
    watcher.on('change', (_, name) => {
      const path = join(folder, String(name))
      const isNamed = Object.keys(before.named).some((named) => isWithin(named, path))
      if (!isResting && (isNamed || isRefusedName(String(name)))) refusePlanted()
    })
    return [watcher]
  }

  /** What was made while nothing acted in a sandbox is the person's. */
  function accept(): void {
    if (isResting) for (const path of listNamed()) before.named[path] = describe(path)
    isResting = false
  }

  function lookAfter(): void {
    accept()
    refusePlanted()
    refuseGitFiles()
    findChanged()
  }

  function end(): void {
    for (const watcher of watchers.splice(0)) watcher.close()
  }

  return {
    enter(id, isIdle) {
      accept()
      living.set(id, isIdle)
      if (living.size === 1) begin()
    },
    run() {
      running++
      accept()
      return () => {
        if (--running > 0 || living.size === 0) return
        refusePlanted()
        isResting = [...living.values()].every((isIdle) => isIdle())
      }
    },
    listPresent() {
      const held = listNamed().filter((path) => path !== own || !look(own)?.isDirectory())
      return [...new Set(held.flatMap((path) => findInside(path, [workspace, ...gitStores])))]
    },
    leave(id) {
      if (!living.delete(id)) return
      lookAfter()
      if (living.size === 0) end()
    },
    close() {
      if (living.size > 0) lookAfter()
      living.clear()
      end()
      for (const path of made) removeMade(path)
    },
    takeNotices: () => notices.splice(0),
  }
}

/** What lies there, itself and not what it leads to. */
function look(path: string): Stats | null {
  // Most are not there, and an exception for each would take longer than everything else.
  return ifSeen(() => lstatSync(path, { throwIfNoEntry: false })) ?? null
}

const changedMs = (path: string) => look(path)?.ctimeMs ?? 0

const isThere = 'there'

/** A mount keeps a file, but not the name of a link, and not where that leads by other links. */
function describe(path: string): string | null {
  const found = look(path)
  if (!found?.isSymbolicLink()) return found && isThere
  return `${lookAtLink(path)} -> ${ifSeen(() => realpathSync.native(path)) ?? ''}`
}

/** Differs for each state of a file, or of a folder and what is directly in it; empty if nothing is there. */
function summarize(path: string): string {
  const found = look(path)
  if (!found) return ''
  const below = found.isDirectory() ? readdirSync(path).map((name) => join(path, name)) : []
  const states = (below.length > 0 ? below : [path]).flatMap((each) => look(each) ?? [])
  return states.map(({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`).join()
}

/** The canonical path of what exists in one of the folders that a run may write. */
function findInside(path: string, folders: readonly string[]): string[] {
  const real = look(path) && ifSeen(() => realpathSync.native(path))
  if (real === null) return []
  return folders.some((folder) => real !== folder && isWithin(real, folder)) ? [real] : []
}

/** Moves the file, or the link above it by which it is there, beside its old name, so that nothing is lost. */
function refuse(path: string, workspace: string): string {
  const planted = findLink(dirname(path), workspace) ?? path
  const made = `This run has made ${relative(workspace, planted)}, which programs outside of the sandbox would run or obey`
  try {
    const taken = look(`${planted}.refused`) !== null
    const free = `${planted}.refused${taken ? `-${createId('n')}` : ''}`
    renameBeside(planted, basename(free))
    return `${made}; it is now called ${relative(workspace, free)}. To let runs write it, name it in \`writable_folders\` of your configuration`
  } catch (error) {
    return `${made}, and it could not be renamed: ${messageOf(error)}`
  }
}

/** The outermost link on the way from the workspace to a folder. */
function findLink(folder: string, workspace: string): string | null {
  if (folder === workspace || !isWithin(folder, workspace)) return null
  const above = findLink(dirname(folder), workspace)
  return above ?? (look(folder)?.isSymbolicLink() ? folder : null)
}

function renameBeside(path: string, name: string): void {
  const renamed = within(path, (at) => renameSync(at, join(dirname(at), name)))
  if (renamed === null) throw new Error('a link lies above it')
}

function describeChange(paths: readonly string[], workspace: string): string {
  const names = paths.map((path) => relative(workspace, path)).join(', ')
  return `Changed during this run: ${names}. Programs outside of the sandbox run or obey what is in there, so look at it before you start them`
}
