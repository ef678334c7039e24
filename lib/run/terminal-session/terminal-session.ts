import {
  closeSync,
  existsSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { randomInt } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createId } from '../../protocol/ids.ts'
import { limits } from '../../protocol/limits.ts'
import { nowMs } from '../../system/clock.ts'
import {
  type Exit,
  type OutputSink,
  type Running,
  StartError,
  type StopReport,
} from '../../protocol/ports.ts'
import type { Request, TerminalSize } from '../../protocol/request/request.ts'
import type { StopReason } from '../../protocol/result/result.ts'
import type { SessionInfo, TerminalSessionListener } from '../../protocol/sessions.ts'
import type { Launch, PrepareLaunch } from '../launch.ts'
import { createRunning } from '../running.ts'
import { checkRequest, describeConfinement, refuse } from '../session/refusals.ts'
import { sessionVariable } from '../session/stop.ts'
import { markVariable, stopTree } from '../stop.ts'
import { makeTemporaryFolder } from '../../system/temporary-folder.ts'
import type { PtyParts } from '../terminal/pty/process.ts'
import { startPty } from '../terminal/pty/start.ts'
import { type EditorDialect, encodeQuestion, encodeTurn, stateEnd } from './editor-dialect.ts'
import { type CommandEnd, type EditorShell, followEditorShell } from './editor-shell.ts'
import { stopCommand } from './stop-command.ts'

/** One interactive shell on a terminal, replaced when it ends, left behind with a command that goes on. */
export interface TerminalSession {
  /** Gives a run at once, which may have to wait for the shell. */
  run(request: Request, sink: OutputSink): Running
  /** Starts the shell ahead of its first command, as this request would have it. */
  open(request: Request): void
  listen(listener: TerminalSessionListener): void
  /** What the shell would complete the line with, its last word first; null: it cannot say now. */
  complete(line: string): Promise<string[] | null>
  type(data: string): void
  resize(size: TerminalSize): void
  info(): SessionInfo
  close(): Promise<void>
}

export interface TerminalSessionOptions {
  dialectOf: (shell: string) => EditorDialect | null
  prepare: PrepareLaunch
  /** Throws `StartError` where no terminal can be had. */
  parts: () => PtyParts
  cwd: string
  size: TerminalSize
}

/** A shell with what it was started with. */
interface Held {
  shell: EditorShell
  dialect: EditorDialect
  files: ShellFiles
  confinement: string
  mark: string
}

const completeTimeoutMs = 5000
/** A state that is being written is whole a moment later. */
const stateTimeoutMs = 5000

export function createTerminalSession(
  name: string,
  options: TerminalSessionOptions,
): TerminalSession {
  let listener: TerminalSessionListener = { onOutput: () => undefined, onNotice: () => undefined }
  let { size } = options
  let cwd = options.cwd
  let held: Held | null = null
  let opening: Promise<Held> | null = null
  /** The shell that starts, so that what its start files ask can be answered. */
  let arising: EditorShell | null = null
  let turns: Promise<unknown> = Promise.resolve()
  let waiting = 0
  let busy = false
  let closed = false
  /** What the next shell takes over. */
  let inherited: Promise<string> = Promise.resolve('')
  /** Names of variables that the run before was given for itself. */
  let lent: string[] = []
  const all = new Set<Held>()
  /** Files of shells that have ended, being removed. */
  const closings = new Set<Promise<void>>()

  function ensureShell(request: Request): Promise<Held> {
    if (opening) return opening
    if (held?.shell.alive) {
      if (held.confinement === describeConfinement(request)) return Promise.resolve(held)
      listener.onNotice(`Your shell starts anew with ${describeConfinement(request)}`)
      inherited = readState(held)
      void leave(held)
    }
    held = null
    opening = openShell(request).finally(() => (opening = null))
    return opening
  }

  async function openShell(request: Request): Promise<Held> {
    const state = await inherited
    inherited = Promise.resolve('')
    let found = await startShell(request, { plain: false, state })
    if (!(await found.shell.awaitPrompt())) {
      const how = describeEnd(await found.shell.ended)
      found = await startShell(request, { plain: true, state })
      if (!(await found.shell.awaitPrompt())) {
        const message = `The shell ended before its first prompt (${describeEnd(await found.shell.ended)})`
        throw new StartError({ code: 'session_failed', message, exitCode: 125 })
      }
      listener.onNotice(`Your start files ended the shell (${how}): this one runs without them`)
    }
    arising = null
    if (closed) {
      await leave(found)
      throw refuse('session_closed', `Session ${name} has been closed`)
    }
    held = found
    found.files.hide()
    watch(found)
    return found
  }

  async function startShell(
    request: Request,
    { plain, state }: { plain: boolean; state: string },
  ): Promise<Held> {
    const files = openFiles(request.sandbox === 'off')
    try {
      const mark = createId('session')
      const nonce = Array.from({ length: 24 }, () => randomInt(10)).join('')
      const { launch, dialect } = await prepareShell(request, mark, files, (seenAs, dialect) =>
        dialect.compose({
          folder: seenAs,
          turnPath: files.turnPath ?? join(seenAs, 'turn'),
          statePath: files.statePath,
          nonce,
          login: request.login,
          plain,
          state,
        }),
      )
      const parts = options.parts()
      const program = await startPty({ launch, size }, parts)
      const shell = followEditorShell(program, {
        nonce,
        callKeys: dialect.callKeys,
        parts,
        onOther: (bytes, phase) => {
          if (phase !== 'hook' || dialect.showsHooks) listener.onOutput(bytes, phase)
        },
      })
      arising = shell
      const made = { shell, dialect, files, confinement: describeConfinement(request), mark }
      all.add(made)
      const gone = shell.ended.then(() => {
        all.delete(made)
        return files.close()
      })
      closings.add(gone)
      void gone.then(() => closings.delete(gone))
      return made
    } catch (error) {
      await files.close()
      throw error
    }
  }

  async function prepareShell(
    request: Request,
    mark: string,
    files: ShellFiles,
    compose: (
      seenAs: string,
      dialect: EditorDialect,
    ) => { args: string[]; files: Record<string, string> },
  ): Promise<{ launch: Launch; dialect: EditorDialect }> {
    let directory = cwd
    const prepare = async (wanted: Request, sandboxed: boolean) => {
      const dialect = await findDialect({ ...wanted, sandbox: 'off' })
      const launch = await options.prepare(sandboxed ? wanted : { ...wanted, sandbox: 'off' }, {
        share: files.folder,
        args(seenAs) {
          const composed = compose(seenAs, dialect)
          for (const [file, text] of Object.entries(composed.files)) files.write(file, text)
          return composed.args
        },
      })
      return { launch, dialect }
    }
    const bare = { ...request, env: {} }
    let prepared
    try {
      prepared = await prepare({ ...bare, cwd: directory }, true)
    } catch (error) {
      if (!(error instanceof StartError) || directory === request.cwd) throw error
      listener.onNotice(`The shell's directory is gone: ${directory}`)
      directory = request.cwd
      prepared = await prepare({ ...bare, cwd: directory }, true)
    }
    cwd = directory
    const { launch, dialect } = prepared
    const env = { ...launch.env, [markVariable]: mark, [sessionVariable]: mark }
    return { launch: { ...launch, env }, dialect }
  }

  async function findDialect(request: Request): Promise<EditorDialect> {
    const { file } = await options.prepare({ ...request, cwd: '/' })
    const dialect =
      options.dialectOf(basename(file)) ?? options.dialectOf(basename(realpathSync(file)))
    if (dialect) return dialect
    throw refuse(
      'session_shell',
      `A session on a terminal needs bash, zsh or fish, and ${file} is none of them`,
    )
  }

  /** A shell that ends while nobody runs anything is told of at once, and replaced at the next need. */
  function watch(found: Held): void {
    void found.shell.ended.then((exit) => {
      if (held !== found || closed) return
      held = null
      listener.onNotice(`Your shell has ended (${describeEnd(exit)}); the next line gets a new one`)
    })
  }

  function run(request: Request, sink: OutputSink): Running {
    checkRequest(request, null)
    if (closed) throw refuse('session_closed', `Session ${name} has been closed`)
    let mine: Held | null = null
    let ended: Promise<CommandEnd> | null = null
    let cancelled = false
    let left = false
    let stopping: Promise<StopReport> | null = null
    let cancel = () => {}
    const whenCancelled = new Promise<'cancelled'>((resolve) => {
      cancel = () => resolve('cancelled')
    })
    let end: (exit: Exit) => void = () => undefined
    const exited = new Promise<Exit>((resolve) => {
      end = resolve
    })
    let free = () => {}
    const freed = new Promise<void>((resolve) => {
      free = resolve
    })
    let startedMs = nowMs()

    async function take(): Promise<void> {
      waiting--
      busy = true
      try {
        const exit = await turn()
        end(exit)
      } catch (error) {
        if (!(error instanceof StartError)) throw error
        end({ code: null, signal: null, notStarted: error.failure })
      } finally {
        if (!left) busy = false
        free()
      }
    }

    async function turn(): Promise<Exit> {
      const neverBegun: Exit = { code: null, signal: 'SIGINT', notices: [], cwd }
      if (cancelled) return neverBegun
      const found = await Promise.race([ensureShell(request), whenCancelled])
      if (found === 'cancelled') return neverBegun
      const there = await Promise.race([found.shell.awaitPrompt(), whenCancelled])
      if (there === 'cancelled') return neverBegun
      mine = found
      startedMs = nowMs()
      found.files.turn(composeTurn(request, found.dialect))
      ended = found.shell.run((bytes) => sink.write('output', bytes))
      const told = await ended
      await stopping
      return settle(told, found)
    }

    function composeTurn(
      { env, cwdGiven, cwd: directory }: Request,
      dialect: EditorDialect,
    ): string {
      const { quote } = dialect
      const before = lent.map((variable) => dialect.restoreVariable(variable))
      lent = Object.keys(env)
      for (const variable of lent) {
        before.push(dialect.lendVariable(variable, quote(env[variable] ?? '')))
      }
      if (cwdGiven && directory !== cwd) before.push(dialect.changeDirectory(quote(directory)))
      before.push(dialect.exportVariable(markVariable, quote(request.id)))
      return encodeTurn(before.join('; '), request.command)
    }

    async function settle(told: CommandEnd, found: Held): Promise<Exit> {
      if (told.kind === 'told') {
        if (!left && told.cwd.startsWith('/')) cwd = told.cwd
        // The shell of a command that went on without its session has nobody any more.
        if (left) void leave(found)
        const signal = stopping ? 'SIGINT' : null
        return { code: signal ? null : told.status, signal, cwd: told.cwd }
      }
      return { ...told.exit, cwd }
    }

    waiting++
    turns = turns.then(() => Promise.race([take(), freed]))

    return createRunning({
      pid: () => mine?.shell.pid ?? null,
      group: () => mine?.shell.group?.path ?? null,
      exited,
      input: {
        write: async (data) => (mine?.shell ?? arising)?.type(data),
        // Ctrl-D, which a terminal reads as the end at the start of a line.
        end: () => void (mine?.shell ?? arising)?.type('\u0004'),
      },
      resize(columns, rows) {
        if (left) mine?.shell.resize(columns, rows)
        else setSize({ columns, rows })
      },
      stop(reason: StopReason) {
        stopping ??= (async () => {
          cancelled = true
          cancel()
          if (!ended || !mine) return { survivors: [] }
          return stopCommand({ shell: mine.shell, mark: request.id, startedMs, ended, reason })
        })()
        return stopping
      },
      waitingForInput: () => (mine?.shell ?? arising)?.waitingForInput() ?? null,
      leave() {
        if (left || !mine || held !== mine) return
        left = true
        held = null
        busy = false
        lent = []
        inherited = readState(mine)
        free()
        open(request)
      },
    })
  }

  /** What the shell left of its state before the command that it runs; empty where it could not. */
  async function readState({ shell, files, dialect }: Held): Promise<string> {
    const state = await files.readState(shell.prompt)
    if (state !== '') return state
    listener.onNotice('The new shell has the directory of the one before, and nothing else of it')
    return dialect.changeDirectory(dialect.quote(cwd))
  }

  function open(request: Request): void {
    // A start that fails is told by the first run that needs it.
    ensureShell(request).catch(() => undefined)
  }

  function setSize(wanted: TerminalSize): void {
    size = wanted
    const shell = held?.shell ?? arising
    shell?.resize(wanted.columns, wanted.rows)
  }

  /** Ends a shell with all that it started. */
  async function leave({ shell, mark }: Held): Promise<void> {
    const over = shell.close()
    const timer = new AbortController()
    await Promise.race([
      over,
      delay(limits.stopGraceMs, null, { signal: timer.signal }).catch(() => null),
    ])
    timer.abort()
    await stopTree({
      pid: shell.alive ? shell.pid : null,
      mark,
      group: shell.group,
      marks: [`${sessionVariable}=${mark}`],
      pipes: () => shell.terminals(),
    })
    await over
  }

  return {
    run,
    open,
    listen: (chosen) => void (listener = chosen),
    async complete(line) {
      const found = held ?? (await opening?.catch(() => null))
      // A shell that has just started, or whose prompt hooks still run, is there in a moment.
      if (!found || busy || !(await found.shell.awaitPrompt()) || busy) return null
      found.files.turn(encodeQuestion(line))
      const answer = await found.shell.ask(completeTimeoutMs)
      return answer === null ? null : answer.split('\n')
    },
    type: (data) => void (held?.shell ?? arising)?.type(data),
    resize: setSize,
    info: () => ({
      name,
      pid: held?.shell.alive ? held.shell.pid : null,
      cwd,
      busy,
      queued: waiting,
      idleMs: 0,
    }),
    async close() {
      closed = true
      await Promise.all([...all].map(leave))
      await opening?.catch(() => undefined)
      await Promise.all(closings)
    },
  }
}

function describeEnd({ code, signal }: Exit): string {
  return signal ?? `exit ${code}`
}

/** The files by which nacre and a shell talk beside its terminal. */
interface ShellFiles {
  folder: string
  /** Null: the file `turn` of the folder, under whatever name the shell sees it. */
  turnPath: string | null
  /** Null: the shell cannot leave its state, since it may write nothing of ours. */
  statePath: string | null
  write(name: string, text: string): void
  turn(text: string): void
  readState(prompt: string): Promise<string>
  /** The shell has read what it reads by name. */
  hide(): void
  /** Settles when nothing of them is left. */
  close(): Promise<void>
}

/**
 * On Linux the shell reads its turns through a descriptor of nacre in `/proc`, so that no command has a
 * name; a shell in a sandbox, which does not see nacre, and others by name. The state always has a name:
 * what writes it may outlive its shell, and a descriptor that is closed by then may be any other file,
 * which would be overwritten.
 */
function openFiles(visible: boolean): ShellFiles {
  const folder = makeTemporaryFolder('shell')
  const anonymous = visible && process.platform === 'linux'
  const turnFd = openSync(join(folder, 'turn'), 'wx+', 0o600)
  const statePath = join(folder, 'state')
  let open = true
  /** All but that behind the last prompt. */
  function removeOldStates(): void {
    const numbers = readdirSync(folder)
      .filter(isState)
      .map((name) => Number(name.slice(6)))
    for (const number of numbers) {
      if (number < Math.max(...numbers)) rmSync(`${statePath}.${number}`, { force: true })
    }
  }
  return {
    folder,
    turnPath: anonymous ? `/proc/${process.pid}/fd/${turnFd}` : null,
    statePath: visible ? statePath : null,
    write: (name, text) => writeFileSync(join(folder, name), text, { mode: 0o600 }),
    turn(text) {
      const bytes = Buffer.from(text)
      ftruncateSync(turnFd, 0)
      writeSync(turnFd, bytes, 0, bytes.length, 0)
      removeOldStates()
    },
    async readState(prompt) {
      const deadlineMs = nowMs() + stateTimeoutMs
      while (visible && open) {
        const text = readText(`${statePath}.${prompt}`)
        if (text.endsWith(`\n${stateEnd}${prompt}\n`)) return text
        if (nowMs() > deadlineMs) break
        await delay(10)
      }
      return ''
    },
    hide() {
      if (!anonymous) return
      for (const name of readdirSync(folder)) {
        if (!isState(name)) rmSync(join(folder, name), { recursive: true })
      }
    },
    async close() {
      if (!open) return
      open = false
      closeSync(turnFd)
      // What writes the state may do so a moment longer than its shell lives.
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 })
    },
  }
}

function isState(name: string): boolean {
  return name.startsWith('state.')
}

/** Empty where it is not there yet. */
function readText(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}
