import { statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { messageOf } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { makeFilledFolder, removeTemporaryFolder } from '../../system/temporary-folder.ts'
import { captureSetUp, type StartFiles, startFilesOf } from './capture.ts'
import {
  checkSetUp,
  composeDefinitions,
  composeSetUp,
  noSetUp,
  type ReadableSetUp,
  selectDefinitions,
  selectSimpleAliases,
} from './definitions.ts'

/** What a run takes over of what the person has set up in their start files. */
export interface SetUp {
  /** The variables that the person's own shell exports and nacre was not given, or not so. */
  readonly exports: ReadonlyMap<string, string>
  /** What a shell that stays takes over: options, functions and aliases. Empty where there are none. */
  readonly text: string
  /** What is missing, for the reader. */
  readonly notices: readonly string[]
  /** The same, the first time that it is asked for; then nothing. */
  takeNotices(): readonly string[]
  /**
   * A file that defines the functions and aliases that a command may need, to be read before it from
   * the descriptor `definitionsFd`; null where it needs none.
   */
  fileFor(command: string): string | null
}

/** Under which number a shell finds the file of `SetUp.fileFor`; the file itself closes it. */
export const definitionsFd = 9

export interface SnapshotUse {
  /** The shell that runs the command. */
  file: string
  /** The environment in which the start files are run. */
  env: Readonly<Record<string, string>>
  /** A model chose the command: nobody can answer what an alias such as `rm -i` would ask. */
  forModel: boolean
}

export interface Snapshots {
  /** Never rejects. */
  read(use: SnapshotUse): Promise<SetUp>
  /** Removes its files. */
  close(): void
}

/** A shell whose start files are read. */
interface Shell {
  file: string
  name: string
  startFiles: StartFiles
}

/** What was found in the start files of one shell. */
interface Found {
  exports: ReadonlyMap<string, string>
  setUp: ReadableSetUp
  /** Those that mean the same in a bash, if this is another shell. */
  simpleAliases: ReadonlyMap<string, string>
  notices: string[]
}

/**
 * Runs a person's start files once for each shell, and again when one of them has changed, and keeps what
 * they set up in memory: values of variables may be secrets. Variables and PATH are those of the person's
 * own shell (`$SHELL`). Functions, aliases and options are those of the shell that runs the command; a bash
 * also gets the simple aliases of the person's own shell. Start files that fail, ask, or take more than 2 s
 * cost a notice.
 */
export function createSnapshots(): Snapshots {
  const known = new Map<string, Promise<Found>>()
  const made = new WeakMap<Found, Map<Found, SetUp>>()
  let folder: string | null = null
  let files = 0

  function openFolder(): string {
    folder ??= makeFilledFolder('setup', (path) => writeFileSync(join(path, 'room'), ''))
    return folder
  }

  function writeText(text: string): string {
    const path = join(openFolder(), `definitions-${++files}`)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }

  async function capture(shell: Shell, startFile: string, use: SnapshotUse): Promise<Found> {
    const { file, name, startFiles } = shell
    try {
      const options = { file, name, startFiles, startFile, env: use.env }
      const captured = await captureSetUp({
        ...options,
        timeoutMs: limits.snapshotMs,
        directory: openFolder(),
      })
      if (captured.kind === 'failed') return failed(startFile, captured.why)
      const { parts } = captured
      const setUp = await checkSetUp(shell, parts)
      const simpleAliases = name === 'bash' ? new Map() : selectSimpleAliases(parts, name)
      const notices = setUp.dropped.map(
        (part) => `${startFile}: its ${part} could not be taken over`,
      )
      if (parts.hasSyntaxFault) {
        notices.push(
          `${startFile} was taken over up to a fault of its syntax; \`${name} -n ${startFile}\` shows it`,
        )
      }
      return { exports: findChanged(parts.exports, use.env), setUp, simpleAliases, notices }
    } catch (error) {
      return failed(startFile, messageOf(error))
    }
  }

  async function find(shell: Shell | null, use: SnapshotUse): Promise<Found> {
    const paths = shell?.startFiles.find(use.env) ?? []
    const [startFile] = paths
    if (shell === null || startFile === undefined) return nothing
    const key = [shell.file, use.forModel, use.env['PATH'], ...paths.map(identify)].join('\0')
    const found = known.get(key) ?? capture(shell, startFile, use)
    known.set(key, found)
    return found
  }

  return {
    async read(use) {
      const running = describeShell(use.file)
      const own = describeShell(use.env['SHELL'] ?? '') ?? running
      const isOne = own?.name === running?.name
      const [definitions, exported] = await Promise.all([
        find(running, use),
        isOne ? null : find(own, use),
      ])
      const values = exported ?? definitions
      const before = made.get(definitions)?.get(values)
      if (before) return before
      const merged =
        isOne || running?.name !== 'bash'
          ? definitions.setUp
          : withAliases(definitions.setUp, values.simpleAliases)
      const setUp = createSetUp(
        use.forModel ? withoutQuestions(merged) : merged,
        values.exports,
        [...new Set([...definitions.notices, ...values.notices])],
        writeText,
      )
      made.set(definitions, (made.get(definitions) ?? new Map<Found, SetUp>()).set(values, setUp))
      return setUp
    },
    close() {
      if (folder !== null) removeTemporaryFolder(folder)
      folder = null
    },
  }
}

/** After so many different selections, a new one is given everything, so that the files stay few. */
const maxFiles = 64

function createSetUp(
  setUp: ReadableSetUp,
  exports: SetUp['exports'],
  notices: readonly string[],
  writeText: (text: string) => string,
): SetUp {
  const paths = new Map<string, string>()
  let toldOf = false

  return {
    exports,
    text: composeSetUp(setUp),
    notices,
    takeNotices() {
      if (toldOf) return []
      toldOf = true
      return notices
    },
    fileFor(command) {
      const all = setUp.functions.size + setUp.aliases.size
      if (all === 0) return null
      const selected = paths.size < maxFiles ? selectDefinitions(setUp, command) : setUp
      if (selected.functions.size + selected.aliases.size === 0) return null
      const text = composeDefinitions(selected)
      const path = paths.get(text) ?? writeText(composeFile(setUp, text))
      paths.set(text, path)
      return path
    },
  }
}

/**
 * What a shell reads before one command. Options are left as every command expects them, but for those
 * by which the definitions are read.
 */
function composeFile({ options, prelude }: ReadableSetUp, definitions: string): string {
  const isBash = prelude === ''
  const extended = isBash && options.includes('shopt -s extglob')
  return [
    ...(isBash ? ['\\builtin unset BASH_ENV', '\\builtin shopt -s expand_aliases'] : []),
    `\\exec ${definitionsFd}<&-`,
    ...(extended ? ['\\builtin shopt -s extglob'] : []),
    prelude,
    definitions,
    ...(extended ? ['\\builtin shopt -u extglob'] : []),
    '',
  ].join('\n')
}

function describeShell(file: string): Shell | null {
  const name = basename(file)
  const startFiles = startFilesOf.get(name)
  return startFiles === undefined ? null : { file, name, startFiles }
}

const nothing: Found = {
  exports: new Map(),
  setUp: noSetUp,
  simpleAliases: new Map(),
  notices: [],
}

function failed(startFile: string, why: string): Found {
  return { ...nothing, notices: [`${startFile} was not taken over: ${why}`] }
}

/** Which state of a file that is. */
function identify(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat ? `${path}:${stat.ino}:${stat.size}:${stat.mtimeMs}` : path
}

/** The variables that the start files have set, but for those that belong to one shell alone. */
function findChanged(
  exports: ReadonlyMap<string, string>,
  before: Readonly<Record<string, string>>,
): ReadonlyMap<string, string> {
  return new Map(
    [...exports].filter(([name, value]) => before[name] !== value && !ofOneShell.test(name)),
  )
}

/** Also what names an agent of keys: one that the start files have started ended with them. */
const ofOneShell =
  /^(?:_|PWD|OLDPWD|SHLVL|PS\d|PROMPT_COMMAND|PROMPT|RPROMPT|IFS|HIST.*|BASH_ENV|ENV|ZDOTDIR|SHELLOPTS|BASHOPTS|COLUMNS|LINES|TTY|GPG_TTY|SSH_AGENT_PID|SSH_AUTH_SOCK|NACRE.*|\d+)$/

/** What stands in the start files of the shell that a person uses wins. */
function withAliases(setUp: ReadableSetUp, aliases: Found['simpleAliases']): ReadableSetUp {
  const functions = new Map([...setUp.functions].filter(([name]) => !aliases.has(name)))
  return { ...setUp, functions, aliases: new Map([...setUp.aliases, ...aliases]) }
}

/** Aliases that do nothing but make a program ask before it acts. */
function withoutQuestions(setUp: ReadableSetUp): ReadableSetUp {
  const aliases = [...setUp.aliases].filter(
    ([name, text]) => !(asks.has(name) && asking.test(text)),
  )
  return { ...setUp, aliases: new Map(aliases) }
}

const asks = new Set(['rm', 'cp', 'mv', 'ln'])
const asking = /\s(?:-[a-zA-Z]*[iI]|--interactive)/
