import {
  type FSWatcher,
  lstatSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  watch,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { messageOf } from '../../protocol/errors.ts'
import { createId } from '../../protocol/wire.ts'
import { ifSeen, isWithin, lookAtLink, lookIntoFolder, readRegularFile } from '../../system/look.ts'
import {
  createGitFolders,
  isEmptyGitFile,
  makeToHold,
  removeMade,
  tickMs,
  within,
} from './git-folders.ts'
import { followGitSettings } from './git-settings.ts'
import { isRefusedName, isPattern, listTable, refused, told } from './host-run-names.ts'

/** The files of the host in one workspace, while runs in it live. */
export interface HostRunFiles {
  /**
   * To be called before what may write the workspace is started. `note`: a file to be written for whoever clears up
   * after a kill of this process (`refuseLeft`). `isIdle`: whether a shell that waits is all there is of it.
   */
  enter(id: string, note: string, isIdle: () => boolean): void
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
  /** By place: what was there (`describe`), or null. */
  named: Record<string, string | null>
  /** Folders above such a place that were not there. */
  missingAbove: string[]
  told: Record<string, string>
  git: Record<string, KnownGitFile>
}

interface KnownGitFile {
  risks: string[]
  /** Mounted, over what the person has there or over what is as good as nothing; or free, in another repository. */
  kind: 'held' | 'empty' | 'nested'
}

const nothing: Before = { enteredMs: 0, named: {}, missingAbove: [], told: {}, git: {} }

/** A run that is over sooner costs no file more. */
const noteAfterMs = 100

/** The times of files are those of a clock that is this much behind at most. */
const behindMs = 20

export function findHostRunFiles(place: HostRunPlace, earlier?: Omit<Note, 'place'>): HostRunFiles {
  const { workspace, gitStores } = place
  const own = join(workspace, '.git')
  const lifted = place.declared.filter((path) => path !== workspace && isWithin(path, workspace))
  const isLifted = (path: string) => lifted.some((open) => isWithin(path, open))
  const isInside = (path: string) => path !== workspace && isWithin(path, workspace)
  const folders = createGitFolders(workspace, gitStores)
  const living = new Map<string, () => boolean>()
  let running = 0
  /** Nothing in a sandbox acts: what is made now is the person's. */
  let isResting = false
  let rootMs = 0
  const notices: string[] = []
  const made = new Set(earlier?.made)
  let before: Before = earlier?.before ?? nothing
  /** Whether that has every repository below the workspace. */
  let hasSeenAll = false
  let watcher: FSWatcher | null = null
  let note = ''
  let noting: NodeJS.Timeout | undefined
  let hasNote = false

  /** What is held where it is there, and refused where it was not. */
  function listNamed(): string[] {
    const configs = [own, ...gitStores].map((folder) => join(folder, 'config'))
    const reading = { workspace, home: place.home }
    const led = [...configs, ...place.gitConfigs].flatMap((file) =>
      followGitSettings(file, reading),
    )
    const ofGit = led.filter((path) => isInside(path) && path !== join(own, 'hooks'))
    return [...listTable(refused, workspace), ...ofGit].filter((path) => !isLifted(path))
  }

  function lookBefore(): Before {
    const named = listNamed()
    const above = named.map((path) => dirname(path)).filter(isInside)
    const git = Object.entries(folders.listOwn()).filter(([path]) => !isLifted(path))
    const kindOf = (path: string) => (look(path) && !isEmptyGitFile(path) ? 'held' : 'empty')
    return {
      enteredMs: Date.now() - behindMs,
      named: Object.fromEntries(named.map((path) => [path, describe(path)])),
      missingAbove: [...new Set(above)].filter((path) => look(path) === null),
      told: Object.fromEntries(listTable(told, workspace).map((path) => [path, summarize(path)])),
      git: Object.fromEntries(git.map(([path, risks]) => [path, { risks, kind: kindOf(path) }])),
    }
  }

  function refusePlanted(): void {
    const links = before.missingAbove.filter((path) => look(path)?.isSymbolicLink())
    const planted = [
      ...new Set([
        ...Object.keys(before.named),
        ...listTable(refused.filter(isPattern), workspace),
      ]),
    ].filter((path) => {
      const [was = null, is] = [before.named[path], describe(path)]
      if (is === null || is === was || isLifted(path)) return false
      if (path === own && is === isThere) return !look(path)?.isDirectory()
      return was === null || was !== isThere
    })
    for (const path of [...links, ...planted]) notices.push(...refuse(path, workspace))
  }

  function refuseGitFiles(): void {
    for (const [path, risks] of Object.entries({ ...folders.listNested(), ...folders.listOwn() })) {
      const known = before.git[path]
      const added = risks.filter((risk) => !known?.risks.includes(risk))
      if (added.length === 0 || isLifted(path)) continue
      // Of what the look before did not come to, only the time tells.
      const isOld = !known && !hasSeenAll && (look(path)?.ctimeMs ?? 0) < before.enteredMs
      if (known?.kind === 'held') notices.push(describeChange([path], workspace))
      else if (!isOld) notices.push(...refuse(path, workspace))
      before.git[path] = { risks, kind: known?.kind ?? 'nested' }
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

  /** A state folder that is full or gone costs the look after a kill, not the run. */
  function writeNote(): void {
    const text = JSON.stringify({ place, before, made: [...made] } satisfies Note)
    ifSeen(() => writeFileSync(note, text, { mode: 0o600 }))
    hasNote = true
  }

  /** While the sandbox is being made: nothing runs in it yet. */
  function lookAtNested(): void {
    if (living.size === 0) return
    const { enteredMs } = before
    const old = Object.entries(folders.listNested()).filter(
      ([path]) => (look(path)?.ctimeMs ?? 0) < enteredMs,
    )
    hasSeenAll = folders.sawAll
    for (const [path, risks] of old) before.git[path] ??= { risks, kind: 'nested' }
  }

  function begin(): void {
    before = lookBefore()
    for (const path of Object.keys(before.git)) {
      if (look(path) === null && makeToHold(path)) made.add(path)
    }
    // Where the system has no watch left, there is the look at the end.
    watcher = ifSeen(() => watch(workspace, { persistent: false }))
    watcher?.on('error', () => watcher?.close())
    watcher?.on('change', (_, name) => {
      if (!isTop(String(name), before)) return
      if (isResting) accept(join(workspace, String(name)))
      else refusePlanted()
    })
    setImmediate(lookAtNested)
    noting = setTimeout(writeNote, noteAfterMs).unref()
  }

  /** What is there now is the person's. */
  function accept(made: string): void {
    for (const path of listNamed().filter((path) => isWithin(path, made))) {
      before.named[path] = describe(path)
    }
    before.missingAbove = before.missingAbove.filter((path) => !isWithin(path, made))
  }

  /** Whether names may have come to the root since this was last asked. */
  function hasNewNames(): boolean {
    const mtimeMs = look(workspace)?.mtimeMs ?? 0
    const isSame = mtimeMs === rootMs
    rootMs = Date.now() - mtimeMs > tickMs ? mtimeMs : 0
    return !isSame
  }

  function isTop(name: string, { named, missingAbove }: Before): boolean {
    const path = join(workspace, name)
    const is = named[path]
    if (is !== undefined) return is !== isThere
    return missingAbove.includes(path) || isRefusedName(name)
  }

  function lookAfter(): void {
    refusePlanted()
    refuseGitFiles()
    findChanged()
  }

  function end(): void {
    watcher?.close()
    clearTimeout(noting)
    if (hasNote) rmSync(note, { force: true })
    hasNote = false
  }

  return {
    enter(id, file, isIdle) {
      isResting = false
      living.set(id, isIdle)
      if (living.size > 1) return
      note = file
      begin()
    },
    run() {
      running++
      // The watcher may hear of it only after the run has begun, or ended.
      if (isResting && hasNewNames()) accept(workspace)
      isResting = false
      return () => {
        if (--running > 0) return
        if (hasNewNames()) refusePlanted()
        isResting = [...living.values()].every((isIdle) => isIdle())
      }
    },
    listPresent() {
      const git = Object.entries(before.git).filter(([, { kind }]) => kind !== 'nested')
      const places = [
        ...Object.keys(before.named),
        ...listTable(refused.filter(isPattern), workspace),
      ]
      const named = places.filter((path) => path !== own || !look(own)?.isDirectory())
      const held = [...git.map(([path]) => path), ...named].filter((path) => !isLifted(path))
      return [...new Set(held.flatMap((path) => findInside(path, [workspace, ...gitStores])))]
    },
    leave(id) {
      if (!living.delete(id)) return
      lookAfter()
      if (living.size === 0) end()
    },
    close() {
      if (living.size > 0 || earlier) lookAfter()
      living.clear()
      end()
      // Not with each run: it takes longer than all else here.
      for (const path of made) removeMade(path)
    },
    takeNotices: () => notices.splice(0),
  }
}

/** Looks at what the runs of a killed process have left, whose notes (`enter`) are in that folder of this user. */
export function refuseLeft(folder: string): void {
  for (const name of lookIntoFolder(folder).filter((name) => name.startsWith('note-'))) {
    const kept = ifSeen(() => JSON.parse(readRegularFile(join(folder, name))) as Note)
    if (kept) findHostRunFiles(kept.place, kept).close()
  }
}

interface Note {
  place: HostRunPlace
  before: Before
  /** What was made to be mounted on. */
  made: string[]
}

/** What lies there, itself and not what it leads to. */
function look(path: string): Stats | null {
  // Most are not there, and an exception for each would take longer than everything else.
  return ifSeen(() => lstatSync(path, { throwIfNoEntry: false })) ?? null
}

const isThere = 'there'

/** A mount keeps a file, but not the name of a link, and not where that leads by other links. */
function describe(path: string): string | null {
  const found = look(path)
  if (!found?.isSymbolicLink()) return found && isThere
  return `${lookAtLink(path)} -> ${ifSeen(() => realpathSync.native(path)) ?? ''}`
}

/** Tells one state of a file, or of a folder and what is directly in it, from another; empty where nothing is. */
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

const mostNumbered = 100

/** Moves the file beside its old name, so that nothing is lost. */
function refuse(path: string, workspace: string): string[] {
  const made = `This run has made ${relative(workspace, path)}, which programs outside of the sandbox would run or obey`
  try {
    const free = within(path, (at) => {
      let name = `${at}.refused`
      for (let n = 2; look(name) !== null; n++) {
        name = `${at}.refused-${n > mostNumbered ? createId('n') : n}`
      }
      renameSync(at, name)
      return basename(name)
    })
    if (free === null) return []
    const name = relative(workspace, join(dirname(path), free))
    return [
      `${made}; it is now called ${name}. To let runs write it, name it in \`writable_folders\` of your configuration`,
    ]
  } catch (error) {
    return [`${made}, and it could not be renamed: ${messageOf(error)}`]
  }
}

function describeChange(paths: readonly string[], workspace: string): string {
  const names = paths.map((path) => relative(workspace, path)).join(', ')
  return `Changed during this run: ${names}. Programs outside of the sandbox run or obey what is in there, so look at it before you start them`
}
