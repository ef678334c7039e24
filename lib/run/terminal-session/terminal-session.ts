import {
  type OutputSink,
  type Running,
  StartError,
  type SessionInfo,
  type SessionJob,
  type TerminalSessionListener,
} from '../../protocol/ports.ts'
import type { Request, TerminalSize } from '../../protocol/request/request.ts'
import type { Origin } from '../../protocol/origin.ts'
import { checkOpener, checkRequest } from '../session/refusals.ts'
import { encodeQuestion } from './editor-dialect.ts'
import { createShellSuccession } from './shell-succession.ts'
import type { ShellStartParts } from './start-shell.ts'
import { createTurn } from './turn.ts'

/** One interactive shell on a terminal, replaced when it ends, left behind with a command that goes on. */
export interface TerminalSession {
  /** Gives a run at once, which may have to wait for the shell. */
  run(request: Request, sink: OutputSink): Running
  /** Starts the shell ahead of its first command, as this request would have it. */
  open(request: Request): void
  listen(listener: TerminalSessionListener): void
  /** What the shell would complete the line with, its last word first; null: it cannot say now. */
  complete(line: string): Promise<string[] | null>
  /** What its shells hang up at their end. */
  listJobs(): Promise<SessionJob[]>
  type(data: string): void
  resize(size: TerminalSize): void
  info(): SessionInfo
  close(): Promise<void>
}

export interface TerminalSessionOptions extends ShellStartParts {
  /** Who asked for it first. */
  opener: Origin
  cwd: string
  size: TerminalSize
}

/** A command takes the shell at once. At its first completion zsh loads all of them: seconds where others work. */
const completeTimeoutMs = 10_000

export function createTerminalSession(
  name: string,
  options: TerminalSessionOptions,
): TerminalSession {
  let listener: TerminalSessionListener = { onOutput: () => undefined, onNotice: () => undefined }
  const shells = createShellSuccession({
    ...options,
    listener: () => listener,
    isBusy: () => busy,
  })
  let turns: Promise<void> = Promise.resolve()
  let waiting = 0
  let busy = false
  let closed = false
  /** What the next shell is started as, where it is needed ahead of a command. */
  let latest: Request | null = null

  return {
    run(request, sink) {
      checkOpener(request, name, options.opener)
      checkRequest(request, null)
      if (closed) throw new StartError('session_closed', `Session ${name} has been closed`)
      latest = request
      const turn = createTurn(request, sink, shells)
      waiting++
      turns = turns.then(async () => {
        waiting--
        busy = true
        await turn.take()
        busy = false
      })
      return turn.running
    },
    open(request) {
      checkOpener(request, name, options.opener)
      latest = request
      // A start that fails is told by the first run that needs it.
      shells.ensure(request).catch(() => undefined)
    },
    listen: (chosen) => void (listener = chosen),
    async complete(line) {
      if (busy || closed || !latest) return null
      // A start that fails is told by the first run that needs it.
      const found = await shells.ensure(latest).catch(() => null)
      // A shell that has just started, or whose prompt hooks still run, is there in a moment.
      if (!found || busy || !(await found.shell.awaitPrompt()) || busy) return null
      try {
        found.files.turn(encodeQuestion(line))
      } catch {
        // The disk takes no more, so the shell cannot be asked.
        return null
      }
      const answer = await found.shell.ask(completeTimeoutMs)
      return answer === null ? null : answer.split('\n')
    },
    listJobs: () => shells.listJobs(),
    type: (data) => void shells.present?.type(data),
    resize: (size) => shells.resize(size),
    info: () => ({
      name,
      pid: shells.held?.shell.alive ? shells.held.shell.pid : null,
      cwd: shells.cwd,
      busy,
      queued: waiting,
      idleMs: 0,
    }),
    async close() {
      closed = true
      await shells.close()
    },
  }
}
