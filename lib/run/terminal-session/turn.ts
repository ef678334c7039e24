import { nowMs } from '../../system/clock.ts'
import { createDeferred } from '../../protocol/deferred.ts'
import {
  type Exit,
  type OutputSink,
  type Running,
  StartError,
  type StartFailure,
  type StopReport,
} from '../../protocol/ports.ts'
import { messageOf } from '../../protocol/errors.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { StopReason } from '../../protocol/result/result.ts'
import { createRunning } from '../running.ts'
import { encodeTurn } from './editor-dialect.ts'
import type { Called } from './editor-shell.ts'
import type { ShellSuccession } from './shell-succession.ts'
import type { StartedShell } from './start-shell.ts'
import { stopCommand } from './stop-command.ts'
import { stoppedBefore } from '../start-limit.ts'
import { markVariable } from '../../system/process/own-process.ts'

/** One command of a session on a terminal, which may have to wait for the others and for its shell. */
export interface Turn {
  running: Running
  /** Runs it. Settles when the next one may have the shell: at its end, or when it is left to itself. */
  take(): Promise<void>
}

export function createTurn(request: Request, sink: OutputSink, shells: ShellSuccession): Turn {
  let mine: StartedShell | null = null
  let called: Called | null = null
  let isTaken = false
  let hasBegun = false
  let isLeft = false
  let stopping: Promise<StopReport> | null = null
  let reason: StopReason = 'cancel'
  let startedMs = nowMs()
  /** What the shell does ahead of the command. */
  let before = ''
  const { promise: cancelled, resolve: cancel } = createDeferred<'cancelled'>()
  const { promise: exited, resolve: end } = createDeferred<Exit>()
  const { promise: freed, resolve: free } = createDeferred()

  async function runToEnd(): Promise<void> {
    try {
      end(await run())
    } catch (error) {
      const notStarted = error instanceof StartError ? error.failure : describeFault(error)
      end({ code: null, signal: null, notStarted })
    }
  }

  async function run(): Promise<Exit> {
    const found = await Promise.race([cancelled, shells.awaitPrompt(request)])
    if (found === 'cancelled') throw stoppedBefore('starting', reason)
    mine = found
    startedMs = nowMs()
    before = composeBefore(found)
    found.files.turn(encodeTurn(before, composeCommand(found), chooseLine()))
    called = found.shell.run((bytes) => sink.write('output', bytes))
    hasBegun = await called.begun
    const told = await called.ended
    await stopping
    if (told.kind === 'gone') {
      const notices = isLeft ? [] : shells.tellEnd(told.exit, stopping === null)
      return { ...told.exit, cwd: shells.cwd, notices }
    }
    if (!hasBegun) throw stoppedBefore('untaken', reason)
    const place = told.cwd?.startsWith('/') ? told.cwd : shells.cwd
    // The shell of a command that went on without its session has nobody any more.
    if (isLeft) shells.dismiss(found)
    else shells.cwd = place
    if (stopping) return { code: null, signal: 'SIGINT', cwd: place }
    const pipeStatus = told.stages.length > 0 ? told.stages : null
    return { code: told.status, signal: null, cwd: place, pipeStatus }
  }

  function composeBefore({ dialect, lent }: StartedShell): string {
    const { quote } = dialect
    const { env, cwdGiven, cwd } = request
    const before = lent.splice(0).map((variable) => dialect.restoreVariable(variable))
    for (const [variable, value] of Object.entries(env)) {
      lent.push(variable)
      before.push(dialect.lendVariable(variable, quote(value)))
    }
    if (cwdGiven && cwd !== shells.cwd) before.push(dialect.changeDirectory(quote(cwd)))
    before.push(dialect.exportVariable(markVariable, quote(request.id)))
    return before.join('; ')
  }

  /** A here-document, or a last backslash, would take what follows as its own. */
  function composeCommand({ dialect }: StartedShell): string {
    const { command } = request
    const mayAdd = command.includes('|') && !command.includes('<<') && !command.endsWith('\\')
    return mayAdd && dialect.keepStages ? `${command}\n${dialect.keepStages}` : command
  }

  /** What a person has typed, unless with a blank ahead. */
  function chooseLine(): string {
    const { origin, command } = request
    return origin === 'repl' && !/^\s/.test(command) ? command : ''
  }

  async function stop(why: StopReason): Promise<StopReport> {
    reason = why
    cancel('cancelled')
    if (!isTaken) {
      end({ code: null, signal: null, notStarted: stoppedBefore('busy', reason).failure })
    }
    if (!mine || !called) return { survivors: [] }
    // What the editor has not read yet is not there any more.
    if (!hasBegun) mine.files.turn(encodeTurn(before, ''))
    const { begun, ended } = called
    if (!(await begun)) return { survivors: [] }
    return stopCommand({ shell: mine.shell, mark: request.id, startedMs, ended, reason })
  }

  const shell = () => mine?.shell ?? shells.present
  return {
    async take() {
      isTaken = true
      if (!stopping) await Promise.race([runToEnd().finally(free), freed])
    },
    running: createRunning({
      pid: () => (hasBegun ? (mine?.shell.pid ?? null) : null),
      group: () => mine?.shell.group?.path ?? null,
      exited,
      input: {
        write: async (data) => shell()?.type(data),
        // Ctrl-D, which a terminal reads as the end at the start of a line.
        end: () => void shell()?.type('\u0004'),
      },
      resize(columns, rows) {
        if (isLeft) mine?.shell.resize(columns, rows)
        else shells.resize({ columns, rows })
      },
      stop: (why) => (stopping ??= stop(why)),
      waitingForInput: () => shell()?.waitingForInput() ?? null,
      leave() {
        if (isLeft || !mine || !shells.pass(mine, request)) return
        isLeft = true
        free()
      },
    }),
  }
}

/** Whatever fails here, who waits for the command hears of it: a full disk takes not even its text. */
function describeFault(error: unknown): StartFailure {
  const message = `Your shell could not be given the command: ${messageOf(error)}`
  return { code: 'session_failed', message }
}
