import { statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { messageOf } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { quoteWord } from '../../protocol/words.ts'
import { makeTemporaryFolder, removeTemporaryFolder } from '../../system/temporary-folder.ts'
import { describeShell, readStartFiles, type SetUpParts, type StartedShell } from './start-files.ts'

/** What a run takes over of what the person has set up in their start files. */
export interface SetUp {
  /** The variables that the person's own shell exports and nacre was not given, or not so. */
  readonly exports: ReadonlyMap<string, string>
  /** What a shell that stays takes over: functions and aliases. Empty if there are none. */
  readonly text: string
  /** What is missing, for the reader. */
  readonly notices: readonly string[]
  /** The same, the first time that it is asked for; then nothing. */
  takeNotices(): readonly string[]
  /**
   * A file that defines the functions and aliases that a command may need, to be read before it from
   * the descriptor `definitionsFd`; null if it needs none.
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

/** What was found in the start files. Each definition is the text that makes it. */
interface Found {
  exports: ReadonlyMap<string, string>
  functions: ReadonlyMap<string, string>
  aliases: ReadonlyMap<string, string>
  notices: readonly string[]
}

const nothing: Found = { exports: new Map(), functions: new Map(), aliases: new Map(), notices: [] }

/**
 * Runs the start files of a person's own shell (`$SHELL`; if those are not known, of the shell that runs the
 * command) once, and again when one of them has changed, and keeps what they set up in memory: values of
 * variables may be secrets. Of a bash come functions and aliases, for another bash; of other shells the simple
 * aliases. Start files that fail, ask, or take more than 2 s cost a notice.
 */
export function createSnapshots(): Snapshots {
  const known = new Map<string, Promise<SetUp>>()
  let folder: string | null = null
  let files = 0

  function openFolder(): string {
    folder ??= makeTemporaryFolder('setup', (path) => writeFileSync(join(path, 'room'), ''))
    return folder
  }

  function writeText(text: string): string {
    const path = join(openFolder(), `definitions-${++files}`)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }

  async function find(shell: StartedShell, { env, file }: SnapshotUse): Promise<Found> {
    const [startFile] = shell.startFiles.find(env)
    if (startFile === undefined) return nothing
    const { name } = shell
    const fail = (why: string): Found => ({
      ...nothing,
      notices: [`${startFile} was not taken over: ${why}`],
    })
    try {
      const options = { startFile, env, directory: openFolder(), timeoutMs: limits.snapshotMs }
      const parts = await readStartFiles(shell, options)
      if (typeof parts === 'string') return fail(parts)
      const notices = parts.hasLostFunctions
        ? [`${startFile}: its functions could not be taken over`]
        : []
      if (parts.hasSyntaxError) {
        notices.push(
          `${startFile} was taken over up to a fault of its syntax; \`${name} -n ${startFile}\` shows it`,
        )
      }
      const exports = findChanged(parts.exports, env)
      if (name !== 'bash')
        return { ...nothing, exports, aliases: selectSimpleAliases(parts), notices }
      const { functions, aliases } = basename(file) === 'bash' ? parts : nothing
      return { exports, functions, aliases, notices }
    } catch (error) {
      return fail(messageOf(error))
    }
  }

  async function make(shell: StartedShell | null, use: SnapshotUse): Promise<SetUp> {
    const { exports, functions, notices, ...found } = shell ? await find(shell, use) : nothing
    const aliases = new Map(found.aliases)
    for (const [name, text] of use.forModel ? aliases : []) {
      if (asks.has(name) && asking.test(text)) aliases.delete(name)
    }
    const isBash = basename(use.file) === 'bash'
    const text = compose([...functions.values()], [...aliases.values()], isBash)
    let path: string | null = null
    let toldOf = false
    return {
      exports,
      text,
      notices,
      takeNotices() {
        if (toldOf) return []
        toldOf = true
        return notices
      },
      fileFor(command) {
        const isNamed = (word: string) => functions.has(word) || aliases.has(word)
        if (text === '' || !(mayNeedAny.test(command) || wordsOf(command).some(isNamed)))
          return null
        path ??= writeText(
          `${isBash ? '\\builtin unset BASH_ENV\n' : ''}\\exec ${definitionsFd}<&-\n${text}`,
        )
        return path
      },
    }
  }

  return {
    read(use) {
      const shell = describeShell(use.env['SHELL'] ?? '') ?? describeShell(use.file)
      const paths = shell?.startFiles.find(use.env).map(identify) ?? []
      const key = [use.forModel, use.env['PATH'], shell?.file, basename(use.file), ...paths]
      const name = key.join('\0')
      const setUp = known.get(name) ?? make(shell, use)
      known.set(name, setUp)
      return setUp
    },
    close() {
      if (folder !== null) removeTemporaryFolder(folder)
      folder = null
    },
  }
}

/**
 * Aliases last, since they would change how functions are read. Options are left as every command expects
 * them, but for the one by which a function may need to be read.
 */
function compose(
  functions: readonly string[],
  aliases: readonly string[],
  isBash: boolean,
): string {
  const texts = [...functions, ...aliases.map(spellAlias)]
  if (!isBash || texts.length === 0) return texts.join('\n')
  return [
    '\\builtin shopt -s expand_aliases extglob',
    ...texts,
    '\\builtin shopt -u extglob',
    '',
  ].join('\n')
}

/** `alias -=…` would be an option: older versions of bash print it so. */
function spellAlias(definition: string): string {
  return definition.replace(/^alias (?=-[^\s-][^\s=]*=|-=)/, 'alias -- ').trimEnd()
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
    [...exports].filter(
      ([name, value]) => before[name] !== value && !variableOfOneShell.test(name),
    ),
  )
}

/** Also what names an agent of keys: one that the start files have started ended with them. */
const variableOfOneShell =
  /^(?:_|PWD|OLDPWD|SHLVL|PS\d|PROMPT_COMMAND|PROMPT|RPROMPT|IFS|HIST.*|BASH_ENV|ENV|ZDOTDIR|SHELLOPTS|BASHOPTS|COLUMNS|LINES|TTY|GPG_TTY|SSH_AGENT_PID|SSH_AUTH_SOCK|NACRE.*|\d+)$/

/** Aliases that do nothing but make a program ask before it acts. */
const asks = new Set(['rm', 'cp', 'mv', 'ln'])
const asking = /\s(?:-[a-zA-Z]*[iI]|--interactive)/

/**
 * The simple aliases of a zsh or fish: words, quoted words and pipes of them, which mean the same to every
 * shell. One that names a function, or another alias, that is not among them is left out.
 */
function selectSimpleAliases({ functions, aliases }: SetUpParts): Map<string, string> {
  const simple = new Map(
    [...aliases].filter(
      ([name, value]) =>
        simpleName.test(name) && simpleValue.test(value) && !wordOfOneShell.test(value),
    ),
  )
  const isMissing = (word: string) =>
    functions.has(word) || (aliases.has(word) && !simple.has(word))
  return new Map(
    [...simple]
      .filter(([name, value]) => !wordsOf(value).some((word) => word !== name && isMissing(word)))
      .map(([name, value]) => [name, `alias ${name}=${quoteWord(value)}`]),
  )
}

const simpleName = /^[\w.+@%,:-]+$/
const simpleValue = /^(?:[\w ./:=@%+,~|-]|'[^'\\]*'|"[^"\\$`!]*")+$/

/** Words that only one of these shells knows, and `=program`. */
const wordOfOneShell =
  /(?:^|[ |])(?:=|(?:noglob|nocorrect|print|whence|where|setopt|unsetopt|rehash|repeat|vared|and|or|string|math)(?:[ |]|$))/

/** What may be the name of a command in it. */
function wordsOf(text: string): string[] {
  return [...new Set(text.split(/[\s;&|()<>`$"'\\{}=]+/))]
}

/**
 * Commands that run, list or change others by names that only they know. Any other command has to name a definition,
 * since reading them all costs as much as starting a shell (10 ms for 100 KB).
 */
const mayNeedAny =
  /(?:^|[\s;&|({`])(?:eval|source|\.|alias|unalias|declare|typeset|compgen|functions)(?:$|[\s;&|)}`])/
