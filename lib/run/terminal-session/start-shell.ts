import { randomInt } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createId } from '../../protocol/wire.ts'
import { StartError, type TerminalSessionListener } from '../../protocol/ports.ts'
import type { Request, TerminalSize } from '../../protocol/request/request.ts'
import type { Launch, PrepareLaunch } from '../launch.ts'
import { describeConfinement } from '../session/refusals.ts'
import type { PtyParts } from '../terminal/start.ts'
import { startPty } from '../terminal/start.ts'
import type { EditorDialect } from './editor-dialect.ts'
import { describeProcess } from '../../system/process/process-table.ts'
import { type EditorShell, followEditorShell } from './editor-shell.ts'
import { openShellFiles, type ShellFiles } from './shell-files.ts'
import { markVariable, ownerVariable, sessionVariable } from '../../system/process/own-process.ts'

export interface ShellStartParts {
  dialectOf: (shell: string) => EditorDialect | null
  prepare: PrepareLaunch
  /** Throws `StartError` where no terminal can be had. */
  parts: () => PtyParts
}

/** How a shell is to begin. */
export interface ShellBeginning {
  cwd: string
  /** Asked when its terminal is opened: it may have changed until then. */
  size: () => TerminalSize
  /** Without the person's start files. */
  plain: boolean
  /** What the shell before has left of itself; empty: there was none. */
  state: string
  /** Whether what its start files say has been said before, by another shell of the session. */
  isRepeated: boolean
  onOutput: TerminalSessionListener['onOutput']
}

/** A shell with what it was started with. */
export interface StartedShell {
  shell: EditorShell
  dialect: EditorDialect
  files: ShellFiles
  confinement: string
  /** The mark in the environment of all that it starts, where no command has put its own. */
  mark: string
  /** A person's own: what it has detached is the person's, and outlives it. */
  isPersons: boolean
  /** Names of variables that the command before was given for itself. */
  lent: string[]
  /** Where it began. */
  cwd: string
  /** Why that is elsewhere than was asked for; null: it is not. */
  moved: string | null
}

/** So long start files may take to ask something, before a shell that is not the first lets them be heard. */
const askingMs = 1000

/** Starts a person's shell on a terminal of its own; its prompt comes later. Rejects with `StartError`. */
export async function startShell(
  parts: ShellStartParts,
  request: Request,
  beginning: ShellBeginning,
): Promise<StartedShell> {
  const { plain, state } = beginning
  const files = openShellFiles(request.sandbox === 'off')
  try {
    const mark = createId('session')
    const nonce = Array.from({ length: 24 }, () => randomInt(10)).join('')
    const { launch, dialect, ...place } = await prepareShell(parts, request, {
      cwd: beginning.cwd,
      mark,
      files,
      compose: (seenAs, dialect, cwd) =>
        dialect.compose({
          folder: seenAs,
          turnPath: files.turnPath ?? join(seenAs, 'turn'),
          statePath: files.statePath,
          nonce,
          login: request.login,
          plain,
          // The state leads back to where the shell before stood.
          state:
            state === '' || cwd === beginning.cwd
              ? state
              : `${state}\n${dialect.changeDirectory(dialect.quote(cwd))}`,
        }),
    })
    const ptyParts = parts.parts()
    const program = await startPty({ launch, size: beginning.size() }, ptyParts)
    const greeting = beginning.isRepeated ? holdGreeting(beginning.onOutput) : null
    const onOutput = greeting?.take ?? beginning.onOutput
    const shell = followEditorShell(program, {
      nonce,
      callKeys: dialect.callKeys,
      parts: ptyParts,
      replaced: () => isReplaced(program.pid, files),
      onOther: (bytes, phase) => {
        if (phase !== 'hook' || dialect.showsHooks) onOutput(bytes, phase)
      },
    })
    if (greeting) void shell.awaitPrompt().then(greeting.drop)
    const holds = { confinement: describeConfinement(request), isPersons: isPersons(request) }
    return { shell, dialect, files, mark, ...place, lent: [], ...holds }
  } catch (error) {
    await files.close()
    throw error
  }
}

/** A sandbox ends with all that is in it, whoever's it is. */
const isPersons = ({ origin, sandbox }: Request) => origin === 'repl' && sandbox === 'off'

/**
 * Whether start files have put another program in the place of the shell. The shell's own command line names its
 * folder, but for zsh, which hears of that by its environment. Where the system tells none, it is the shell.
 */
function isReplaced(pid: number, { folder }: ShellFiles): boolean {
  const line = describeProcess(pid)
  return line !== '' && !line.includes(basename(folder)) && !line.startsWith('zsh -i')
}

/** A shell that is not the first greets nobody again; what its start files ask is heard all the same. */
function holdGreeting(onOutput: TerminalSessionListener['onOutput']) {
  let held: Uint8Array[] | null = []
  const timer = setTimeout(() => {
    const said = held ?? []
    held = null
    for (const bytes of said) onOutput(bytes, 'start')
  }, askingMs)
  return {
    take: (bytes: Uint8Array, phase: 'start' | 'hook' | 'idle') => {
      if (phase === 'start' && held) held.push(bytes.slice())
      else onOutput(bytes, phase)
    },
    drop: () => {
      clearTimeout(timer)
      held = null
    },
  }
}

async function prepareShell(
  { dialectOf, prepare }: ShellStartParts,
  request: Request,
  wanted: {
    cwd: string
    mark: string
    files: ShellFiles
    compose: (
      seenAs: string,
      dialect: EditorDialect,
      cwd: string,
    ) => { args: string[]; files: Record<string, string> }
  },
): Promise<Pick<StartedShell, 'dialect' | 'cwd' | 'moved'> & { launch: Launch }> {
  const { mark, files, compose } = wanted
  // Only a shell that stays is launched as itself: a command may have another one before it (`takeAlong`).
  const look = { share: '/', startsIn: 'share' as const, args: () => [] }
  const { file } = await prepare({ ...request, env: {}, sandbox: 'off', cwd: '/' }, look)
  const dialect = dialectOf(basename(file)) ?? dialectOf(basename(realpathSync(file)))
  if (!dialect) {
    throw new StartError(
      'session_shell',
      `A session on a terminal needs bash, zsh or fish, and ${file} is none of them`,
    )
  }
  const prepareIn = (cwd: string) =>
    prepare(
      { ...request, env: {}, cwd },
      {
        share: files.folder,
        startsIn: 'directory',
        args(seenAs) {
          const composed = compose(seenAs, dialect, cwd)
          for (const [name, text] of Object.entries(composed.files)) files.write(name, text)
          return composed.args
        },
      },
    )
  let { cwd } = wanted
  let moved: string | null = null
  let launch: Launch
  try {
    launch = await prepareIn(cwd)
  } catch (error) {
    if (!(error instanceof StartError) || cwd === request.cwd) throw error
    moved = error.message
    ;({ cwd } = request)
    launch = await prepareIn(cwd)
  }
  const marks = { [markVariable]: mark, [sessionVariable]: mark }
  const env: Launch['env'] = { ...launch.env, ...marks }
  // No nacre owns what a person's shell starts: none ends it after this one.
  if (isPersons(request)) delete env[ownerVariable]
  return { launch: { ...launch, env }, dialect, cwd, moved }
}
