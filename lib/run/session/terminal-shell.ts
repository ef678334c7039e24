import {
  type Exit,
  type OutputSink,
  StartError,
  type TerminalSessionListener,
} from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { ListenerAnswer } from '../../protocol/result/event.ts'
import { messageOf } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { markVariable } from '../../system/process/own-process.ts'
import { sendSignal } from '../../system/process/process-table.ts'
import { pause, settleWithin } from '../../system/clock.ts'
import { createFrameSplitter, type Piece } from '../frame-splitter.ts'
import type { PtyParts, PtyProcess } from '../terminal/start.ts'
import { attachTerminal } from '../terminal/attached-terminal.ts'
import { type EditorDialect, editorKeys } from './dialect.ts'
import type { LocalShell, ShellTurn, TurnEnd } from './shell.ts'
import type { ShellFiles } from './shell-files.ts'
import { listShellJobs, readForegroundGroup, signalForeground } from './shell-jobs.ts'

/** A shell that has been started on a terminal. */
export interface TerminalProgram extends PtyProcess {
  parts: PtyParts
  dialect: EditorDialect
  files: ShellFiles
  nonce: string
  cwd: string
}

/** Where a shell stands: it starts, waits at its prompt, is called, runs a command, is on its way to its prompt. */
type Phase = 'starting' | 'idle' | 'called' | 'asked' | 'running' | 'ending' | 'gone'

/** 128 and the number of SIGINT, as shells have it. */
const interruptedStatus = 130
/** A program that asks what the terminal can do waits for the answer: a VT220 with colours. */
const deviceQuery = /\u001B\[0?c/
const deviceAnswer = '\u001B[?62;22c'
/** An answer may be long. */
const longestMark = 4 * 1024 * 1024
/** Whatever holds the editor, an interrupt leads back to a prompt. */
const interruptKey = '\u0003'
/** A command takes the shell at once. At its first completion zsh loads all of them: seconds on a slow disk. */
const completeTimeoutMs = 10_000
/**
 * Between two looks whether the editor waits for keys though something else was expected of it; if the system
 * does not tell that it waits, the time alone has to.
 */
const lookMs = process.platform === 'linux' ? 200 : 1500
/** So many looks after a call. */
const lostTicks = Math.ceil(3000 / lookMs)
/** An editor that is called so often without an answer is not to be had: the shell is ended. */
const mostCalls = 8

/** What the editor takes. */
interface EditorTurn {
  /** What to do before the command's output begins. */
  before: string
  command: string
  /** What the shell's own history keeps. Default: nothing. */
  line?: string
}

export function followTerminal(
  program: TerminalProgram,
  options: {
    mark: string
    /** Whether start files have replaced the shell by another program, which tells no prompt. */
    replaced(): boolean
    /** What comes while no command runs: from start files, prompt hooks, background jobs. */
    onOutput: TerminalSessionListener['onOutput']
  },
): LocalShell {
  const { pid, group, parts, dialect, files } = program
  const marks = createFrameSplitter({
    head: `\u001B]${program.nonce};`,
    end: 0x07,
    longest: longestMark,
  })
  const { mark, onOutput } = options
  let phase: Phase = 'starting'
  let sink: OutputSink | null = null
  let settleTold: ((end: TurnEnd) => void) | null = null
  let settleBegun: ((hasBegun: boolean) => void) | null = null
  let settleAnswer: ((answer: string | null) => void) | null = null
  let settlePrompt: ((isThere: boolean) => void)[] = []
  /** What was typed for a command that has not begun. */
  const early: string[] = []
  /** The number of the last prompt. */
  let prompt = ''
  let isClosing = false
  let ticking: NodeJS.Timeout | undefined
  /** Looks in a row that found the editor waiting; a single one may have come just before a mark. */
  let looks = 0
  let calls = 0
  let ticks = 0

  const screen = attachTerminal(program, parts, takeBytes)
  const look = () => screen.look()
  expect('starting')

  /** Looks from now on whether the editor waits though it is to do something. */
  function expect(next: Phase): void {
    phase = next
    looks = calls = ticks = 0
    ticking ??= setInterval(urge, lookMs)
  }

  function rest(next: Phase): void {
    phase = next
    clearInterval(ticking)
    ticking = undefined
  }

  /**
   * An interrupt can end what draws a prompt, so that its mark never comes by itself, or take away a call.
   * fish 3.6 then ignores its keys until a signal wakes it in its wait for them.
   */
  function urge(): void {
    if (phase === 'starting' && !options.replaced()) return
    looks = process.platform !== 'linux' || look() === 'raw' ? looks + 1 : 0
    // A call that is not taken for so long was read by something else, which an interrupt ends.
    if (phase === 'called' && ++ticks % lostTicks === 0) {
      looks = 3
      calls = Math.max(calls, 1)
    }
    if (looks === 2) signalForeground(pid, 'SIGWINCH')
    if (looks < 3) return
    looks = 1
    if (phase === 'starting' || ++calls > mostCalls) void close()
    else if (phase === 'ending') void screen.type(editorKeys.tell)
    else void screen.type(calls > 1 ? interruptKey + dialect.callKeys : dialect.callKeys)
  }

  function takeBytes(chunk: Uint8Array): ListenerAnswer | Promise<ListenerAnswer> {
    const pieces = marks.read(chunk)
    for (let next = pieces.shift(); next; next = pieces.shift()) {
      const answer = next.kind === 'frame' ? meet(next.text) : route(next.bytes)
      if (answer instanceof Promise) return takeRest(answer, pieces)
    }
    return undefined
  }

  async function takeRest(first: Promise<unknown>, pieces: Piece[]): Promise<ListenerAnswer> {
    await first
    for (const piece of pieces) {
      if (piece.kind === 'frame') meet(piece.text)
      else await route(piece.bytes)
    }
  }

  function route(bytes: Uint8Array): void | Promise<unknown> {
    switch (phase) {
      case 'running': {
        // Whoever stopped listening has no say in what the others hear.
        const answer = sink?.write('output', bytes)
        return answer instanceof Promise ? answer : undefined
      }
      case 'starting':
        if (deviceQuery.test(Buffer.from(bytes).toString('latin1'))) void screen.type(deviceAnswer)
        return onOutput(bytes, 'start')
      case 'ending':
      case 'idle':
        // What it says of what it hangs up is for nobody.
        return isClosing ? undefined : onOutput(bytes, phase === 'idle' ? 'idle' : 'hook')
      default:
        // The editor draws the line that it has been given.
        return
    }
  }

  /**
   * A mark of the shell: `I` ends the start files, `C` begins a command's output and tells the command's length, `D`
   * ends it, `B` is the prompt, `R` an answer.
   */
  function meet(mark: string): void {
    const [name, ...fields] = mark.split(';')
    if (name === 'B') {
      const [number = ''] = fields
      const isAnother = number !== prompt
      // A shell inside of this one may have been given its prompt, with the number of the last one.
      if (phase === 'running' && !isAnother) return
      prompt = number
      if (phase === 'called' || phase === 'asked') return
      // An interrupt can end what tells the end of a command, too.
      if (phase === 'running') tell({ status: interruptedStatus, stages: null, cwd: null })
      rest('idle')
      for (const settle of settlePrompt.splice(0)) settle(true)
    } else if (name === 'C' && phase === 'called') {
      rest('running')
      const hasBegun = fields[0] !== '0'
      tellBegun(hasBegun)
      for (const typed of early.splice(0)) if (hasBegun) void screen.type(typed)
    } else if (name === 'D' && phase === 'running') {
      const [status = '', stages = '', ...cwd] = fields
      tell({
        status: Number(status),
        stages: stages === '' ? null : stages.split(' ').map(Number),
        cwd: cwd.join(';'),
      })
    } else if (name === 'I' && phase === 'starting') {
      // Its prompt is next, which start files may have kept from being ours.
      expect('ending')
    } else if (name === 'R' && phase === 'asked') {
      rest('idle')
      settleAnswer?.(fields.join(';').replaceAll('\r\n', '\n'))
    }
  }

  function tell(told: Pick<TurnEnd & { kind: 'told' }, 'status' | 'stages' | 'cwd'>): void {
    expect('ending')
    endTurn({ kind: 'told', ...told, notices: [], unfit: null })
  }

  function endTurn(end: TurnEnd): void {
    sink = null
    const settle = settleTold
    settleTold = null
    settle?.(end)
  }

  function tellBegun(hasBegun: boolean): void {
    const settle = settleBegun
    settleBegun = null
    settle?.(hasBegun)
  }

  const ended = program.ended.then(async (exit): Promise<Exit> => {
    const wasRunning = phase === 'running'
    await screen.drain()
    if (wasRunning && phase === 'running') await sink?.write('output', marks.held)
    rest('gone')
    await screen.close()
    files.close()
    tellBegun(false)
    endTurn({ kind: 'gone', exit })
    settleAnswer?.(null)
    for (const settle of settlePrompt.splice(0)) settle(false)
    return exit
  })

  /** Hangs the terminal up, as the kernel does it. */
  async function close(): Promise<void> {
    isClosing = true
    if (phase !== 'gone') {
      signalForeground(pid, 'SIGHUP')
      // The process that leads the session is not the shell where a sandbox stands before it.
      sendSignal(pid, 'SIGHUP')
      sendSignal(pid, 'SIGCONT')
    }
    await ended
  }

  async function ready(): Promise<boolean> {
    if (phase === 'idle') return true
    if (phase === 'gone') return false
    // An editor that is asked something leaves it at once for a fresh prompt.
    if (phase === 'asked') {
      void screen.type(interruptKey)
      settleAnswer?.(null)
      expect('ending')
    }
    return new Promise((resolve) => settlePrompt.push(resolve))
  }

  /** Has the editor take the text; at its prompt only. */
  function call({ before, command, line = '' }: EditorTurn, to: OutputSink | null) {
    files.turn([before, command, line])
    sink = to
    expect('called')
    const begun = new Promise<boolean>((resolve) => (settleBegun = resolve))
    const told = new Promise<TurnEnd>((resolve) => (settleTold = resolve))
    void screen.type(dialect.callKeys)
    return { begun, told }
  }

  function composeBefore({ id, cwdGiven, cwd }: Request, stands: string): string {
    const marked = dialect.exportVariable(markVariable, dialect.quote(id))
    if (!cwdGiven || cwd === stands) return marked
    return `${dialect.changeDirectory(dialect.quote(cwd))}; ${marked}`
  }

  /** A here-document, or a last backslash, would take what follows as its own. */
  function composeCommand(command: string): string {
    const mayAdd = command.includes('|') && !command.includes('<<') && !command.endsWith('\\')
    return mayAdd && dialect.keepStages ? `${command}\n${dialect.keepStages}` : command
  }

  async function begin(request: Request, to: OutputSink, cwd: string): Promise<ShellTurn> {
    if (phase === 'gone') {
      const told = ended.then((exit): TurnEnd => ({ kind: 'gone', exit }))
      const finish = () => told
      return { begun: Promise.resolve(false), told, finish, revoke() {}, files: () => [] }
    }
    const { command, origin } = request
    const before = composeBefore(request, cwd)
    // What a person has typed, unless with a blank ahead.
    const line = origin === 'repl' && !/^\s/.test(command) ? command : ''
    try {
      const { begun, told } = call({ before, command: composeCommand(command), line }, to)
      return {
        begun,
        told,
        finish: () => told,
        revoke() {
          // What the editor has not read yet is not there any more.
          if (settleBegun) files.turn([before, '', ''])
        },
        files: () => screen.files(),
      }
    } catch (error) {
      // A full disk takes not even the text.
      const message = `Your shell could not be given the command: ${messageOf(error)}`
      throw new StartError('session_failed', message)
    }
  }

  async function skipRest(over: AbortSignal, graceMs: number): Promise<void> {
    signalForeground(pid, 'SIGINT')
    await pause(graceMs, over)
    // A shell starts more on the way to its prompt: it would say of it that it was ended.
    if (over.aborted) await settleWithin(limits.stopGraceMs, ready())
  }

  function nudge(isOver: boolean): void {
    if (isOver) return
    const isAlone = readForegroundGroup(pid) === pid
    // It is at a prompt that says nothing: the interrupt came before what the command replaced was put back.
    if (isAlone && look() === 'raw') void screen.type(editorKeys.tell)
    else signalForeground(pid, 'SIGINT')
  }

  async function complete(line: string): Promise<string[] | null> {
    // A shell that has just started, or whose prompt hooks still run, is there in a moment.
    if (!(await ready()) || phase !== 'idle') return null
    try {
      files.turn([line])
    } catch {
      // The disk takes no more, so the shell cannot be asked.
      return null
    }
    phase = 'asked'
    void screen.type(editorKeys.ask)
    let timer: NodeJS.Timeout | undefined
    const answer = await new Promise<string | null>((resolve) => {
      settleAnswer = resolve
      timer = setTimeout(() => void ready(), completeTimeoutMs)
    })
    clearTimeout(timer)
    settleAnswer = null
    return answer === null ? null : answer.split('\n')
  }

  return {
    pid,
    group,
    mark,
    cwd: program.cwd,
    get alive() {
      return phase !== 'gone'
    },
    ended,
    ready,
    begin,
    skipRest,
    nudge,
    files: () => screen.files(),
    readUsage: () => group?.readUsage() ?? null,
    close,
    terminal: {
      type(data) {
        if (phase !== 'called') void screen.type(data)
        // The editor would take it, and an interrupt would take the call away; it is for the command.
        else early.push(data)
      },
      resize: (columns, rows) => screen.resize(columns, rows),
      waitingForInput() {
        const kind = phase === 'running' || phase === 'starting' ? look() : null
        // It is the editor at the first prompt then.
        return phase === 'starting' && kind === 'raw' ? null : kind
      },
      complete,
      readExports: () => files.readExports(),
      listJobs: () => listShellJobs(pid, mark),
      async askGroups() {
        let told = ''
        if (!(await ready())) return []
        const listen = (_stream: string, bytes: Uint8Array) =>
          void (told += Buffer.from(bytes).toString('latin1'))
        await call({ before: '', command: 'jobs -p' }, { write: listen }).told
        return told.match(/\d+/g)?.map(Number) ?? []
      },
    },
  }
}
