import { randomInt } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { basename } from 'node:path'
import { type Exit, StartError } from '../../protocol/ports.ts'
import { originPolicies } from '../../protocol/origin.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { ControlGroups } from '../../system/process/control-group.ts'
import { describeProcess } from '../../system/process/process-table.ts'
import { markVariable, ownerVariable } from '../../system/process/own-process.ts'
import type { Uninherited } from '../../system/process/spawn.ts'
import type { PrepareLaunch } from '../launch.ts'
import { type PtyParts, startPty } from '../terminal/start.ts'
import { loadTerminalCalls, type TerminalCalls } from '../terminal/terminal-calls.ts'
import type { EditorDialect } from './dialect.ts'
import { editorBash } from './editor-bash.ts'
import { editorFish } from './editor-fish.ts'
import { editorZsh } from './editor-zsh.ts'
import {
  addMarks,
  type Beginning,
  type LocalShell,
  prepareInPlace,
  type StartShell,
} from './shell.ts'
import { followTerminal, type TerminalProgram } from './terminal-shell.ts'
import { openShellFiles, type ShellFiles } from './shell-files.ts'

/** Starts persons' shells on terminals of their own. */
export function createTerminalStart(options: {
  prepare: PrepareLaunch
  uninherited: Uninherited
  groups?: ControlGroups | undefined
}): StartShell {
  const { prepare, uninherited, groups } = options
  let calls: TerminalCalls | null = null

  return async (beginning) => {
    calls ??= loadTerminalCalls()
    const { tell, signal, terminal } = beginning
    const parts = { calls, uninherited, groups }
    const begin = (plain: boolean) => startShell(prepare, parts, beginning, plain)
    // Start files would give a model's shell what is withheld from it, so it gets the snapshot of them instead.
    const isOfModel = originPolicies[beginning.request.origin].withholdsKeys
    let found = await begin(isOfModel)
    if (!(await found.ready())) {
      const how = describeExit(await found.ended)
      if (!signal.aborted) found = await begin(true)
      if (!(await found.ready())) {
        const message = `The shell ended before its first prompt (${describeExit(await found.ended)})`
        throw new StartError('session_failed', message)
      }
      // What start files do is said once, like their greeting.
      if (!terminal?.isRepeated) {
        tell(`Your start files ended the shell (${how}): this one runs without them`)
      }
    }
    return found
  }
}

function describeExit({ code, signal }: Exit): string {
  return signal ?? `exit ${code}`
}

/** Starts a shell. Rejects with `StartError`. */
async function startShell(
  prepare: PrepareLaunch,
  parts: PtyParts,
  beginning: Beginning,
  plain: boolean,
): Promise<LocalShell> {
  const { request, terminal, signal } = beginning
  if (terminal === null) throw new TypeError('This shell has no terminal')
  const nonce = Array.from({ length: 24 }, () => randomInt(10)).join('')
  const { dialect, setUp } = await findDialect(prepare, request)
  const files = openShellFiles(request.sandbox === 'off')
  try {
    const prepareIn = (cwd: string) =>
      prepare(
        { ...request, env: {}, cwd },
        {
          share: files.folder,
          startsIn: 'directory',
          args(seenAs) {
            const composed = dialect.compose({
              folder: seenAs,
              turnPath: files.turnPath(seenAs),
              exportsPath: files.exportsPath,
              nonce,
              login: request.login,
              plain,
              exports: [setUp, adaptExports(dialect, beginning, cwd)].filter(Boolean).join('\n'),
            })
            for (const [name, text] of Object.entries(composed.files)) files.write(name, text)
            return composed.args
          },
        },
      )
    const launch = addMarks(await prepareInPlace(beginning, prepareIn), beginning)
    // No nacre owns what a person's shell starts: none ends it after this one.
    if (request.origin === 'repl' && request.sandbox === 'off') delete launch.env[ownerVariable]
    const started = await startPty({ launch, size: terminal.size() }, parts)
    const program: TerminalProgram = { ...started, parts, dialect, files, nonce, cwd: launch.cwd }
    const shell = followTerminal(program, {
      mark: beginning.mark,
      replaced: () => isReplaced(started.pid, files),
      onOutput(bytes, phase) {
        if (phase === 'hook' && !dialect.showsHooks) return
        // A shell that is not the first greets nobody again.
        if (phase !== 'start' || !terminal.isRepeated) terminal.onOutput(bytes, phase)
      },
    })
    const end = () => void shell.close()
    signal.addEventListener('abort', end, { once: true })
    void shell.ended.then(() => {
      signal.removeEventListener('abort', end)
      return launch.settle?.()
    })
    if (shell.terminal) terminal.arise(shell.terminal)
    return shell
  } catch (error) {
    files.close()
    throw error
  }
}

/** What is told of the shell before and is not true of this one: its directory, if that is another, and its mark. */
function adaptExports(
  dialect: EditorDialect,
  { terminal, mark, cwd }: Beginning,
  at: string,
): string {
  const { exports = '' } = terminal ?? {}
  if (exports === '') return ''
  const move = cwd === at ? '' : dialect.changeDirectory(dialect.quote(at))
  return `${exports}\n${move}\n${dialect.exportVariable(markVariable, dialect.quote(mark))}`
}

const dialects: ReadonlyMap<string, EditorDialect> = new Map([
  ['bash', editorBash],
  ['zsh', editorZsh],
  ['fish', editorFish],
])

/** With what it takes over of start files. By the shell itself: what is launched for a command may have another program before it. */
async function findDialect(prepare: PrepareLaunch, request: Request) {
  const look = { share: '/', startsIn: 'share' as const, args: () => [] }
  const { file, setUp } = await prepare({ ...request, env: {}, sandbox: 'off', cwd: '/' }, look)
  const dialect = dialects.get(basename(file)) ?? dialects.get(basename(realpathSync(file)))
  if (dialect) return { dialect, setUp: setUp?.text ?? '' }
  const message = `A session on a terminal needs bash, zsh or fish, and ${file} is none of them`
  throw new StartError('session_shell', message)
}

/**
 * Whether start files have put another program in the place of the shell. The shell's own command line names its
 * folder, except that of zsh, which gets it in its environment. If the system tells none, it is the shell.
 */
function isReplaced(pid: number, { folder }: ShellFiles): boolean {
  const line = describeProcess(pid)
  return line !== '' && !line.includes(basename(folder)) && !line.startsWith('zsh -i')
}
