import { closeSync, fstatSync } from 'node:fs'
import type { ListenerAnswer } from '../../protocol/result/event.ts'
import type { Exit } from '../../protocol/ports.ts'
import type { InputKind } from '../../protocol/result/result.ts'
import type { ControlGroup } from '../../system/process/control-group.ts'
import type { FileIdentity } from '../../system/process/process-table.ts'
import type { PtyParts, PtyProcess } from '../terminal/start.ts'
import { createTerminalInput } from '../terminal/terminal-input.ts'
import { readTerminal } from '../terminal/terminal-output.ts'
import { createTerminalWatch } from '../terminal/waiting-for-input.ts'
import { createEditorCall, interruptKey } from './editor-call.ts'
import { editorKeys } from './editor-dialect.ts'
import { createMarkReader, type Piece } from './editor-marks.ts'
import { createPromptWait } from './prompt-wait.ts'
import { hangUp, wakeEditor } from './terminal-signals.ts'

/** How a command ended: the shell told, or it is gone. */
export type CommandEnd =
  | { kind: 'told'; status: number; stages: number[]; cwd: string | null }
  | { kind: 'gone'; exit: Exit }

/** A command that the editor was called for. Neither promise rejects. */
export interface Called {
  /** False: the command was taken back before the editor took it, or the shell has ended. */
  begun: Promise<boolean>
  ended: Promise<CommandEnd>
}

/** Where a shell stands: it starts, waits at its prompt, is about to run, runs, or has run. */
type Phase = 'starting' | 'idle' | 'called' | 'running' | 'ending' | 'gone'

export type TakeOutput = (bytes: Uint8Array) => ListenerAnswer | Promise<ListenerAnswer>

/** One interactive shell on a terminal of its own. */
export interface EditorShell {
  readonly pid: number
  /** Holds all that it starts; null where the kernel gives none. */
  readonly group: ControlGroup | null
  readonly alive: boolean
  readonly idle: boolean
  /** The number of its last prompt. */
  readonly prompt: string
  /** Identities of its terminal, by which its processes are found. */
  terminals(): readonly FileIdentity[]
  /** Settles at the next prompt, or with false when the shell has ended. */
  awaitPrompt(): Promise<boolean>
  /** Lets the editor take what was written for it; at its prompt only. */
  run(take: TakeOutput): Called
  /** Lets the editor answer what was written for it; null: it does not, or has ended. */
  ask(timeoutMs: number): Promise<string | null>
  type(data: string): Promise<void>
  resize(columns: number, rows: number): void
  waitingForInput(): InputKind | null
  readonly ended: Promise<Exit>
  /** Hangs the terminal up. Settles when the shell has ended and nothing is open any more. */
  close(): Promise<void>
}

export interface EditorShellOptions {
  nonce: string
  callKeys: string
  parts: PtyParts
  /** Whether start files have replaced the shell by another program, which tells no prompt. */
  replaced: () => boolean
  /** What comes while no command runs: from start files, prompt hooks, background jobs. */
  onOther: (bytes: Uint8Array, phase: 'start' | 'hook' | 'idle') => void
}

/** 128 and the number of SIGINT, as shells have it. */
const interruptedStatus = 130
/** A program that asks what the terminal can do waits for the answer: a VT220 with colours. */
const deviceQuery = /\u001B\[0?c/
const deviceAnswer = '\u001B[?62;22c'

export function followEditorShell(program: PtyProcess, options: EditorShellOptions): EditorShell {
  const { parts, onOther, replaced } = options
  const { pid, master, slave } = program
  const marks = createMarkReader(options.nonce)
  let terminals: FileIdentity[] = [fstatSync(slave)]
  let phase: Phase = 'starting'
  let take: TakeOutput | null = null
  let settleRun: ((end: CommandEnd) => void) | null = null
  let settleAnswer: ((answer: string | null) => void) | null = null
  let settleBegun: ((hasBegun: boolean) => void) | null = null
  let answerTimer: NodeJS.Timeout | undefined
  /** What was typed for a command that has not begun. */
  const early: string[] = []
  let prompt = ''

  const input = createTerminalInput(master, parts.calls)
  const output = readTerminal(program, {
    take: takeBytes,
    onRead: () => input.flush(),
    onClose() {
      input.close()
      parts.uninherited.delete(master)
    },
  })
  const look = createTerminalWatch(pid, program.path)
  const call = createEditorCall({
    keys: options.callKeys,
    type: (keys) => void input.type(keys),
    giveUp: () => void close(),
  })
  const prompts = createPromptWait({
    isEditing: () =>
      (phase === 'ending' || (phase === 'starting' && replaced())) && look() === 'raw',
    wake: () => wakeEditor(pid),
    call: () => void (phase === 'starting' ? close() : input.type(editorKeys.tell)),
    giveUp: () => void close(),
  })

  function takeBytes(chunk: Uint8Array): ListenerAnswer | Promise<ListenerAnswer> {
    const pieces = marks.read(chunk)
    for (let next = pieces.shift(); next; next = pieces.shift()) {
      const answer = next.kind === 'mark' ? meet(next) : route(next.bytes)
      if (answer instanceof Promise) return takeRest(answer, pieces)
    }
    return undefined
  }

  async function takeRest(first: Promise<unknown>, pieces: Piece[]): Promise<ListenerAnswer> {
    await first
    for (const piece of pieces) {
      if (piece.kind === 'mark') meet(piece)
      else await route(piece.bytes)
    }
  }

  function route(bytes: Uint8Array): void | Promise<unknown> {
    switch (phase) {
      case 'running': {
        // Whoever stopped listening has no say in what the others hear.
        const answer = take?.(bytes)
        return answer instanceof Promise ? answer : undefined
      }
      case 'starting':
        if (deviceQuery.test(Buffer.from(bytes).toString('latin1'))) void input.type(deviceAnswer)
        return onOther(bytes, 'start')
      case 'ending':
        return onOther(bytes, 'hook')
      case 'idle':
        return onOther(bytes, 'idle')
      default:
        // The editor draws the line that it has been given.
        return
    }
  }

  function meet({ name, fields }: Extract<Piece, { kind: 'mark' }>): void {
    if (name === 'B' && phase !== 'called') {
      const [number = ''] = fields
      if (phase === 'running') {
        // A shell inside of this one may have been given its prompt, with the number of the last one.
        if (number === prompt) return
        // An interrupt can end what tells the end of a command, too.
        endRun({ kind: 'told', status: interruptedStatus, stages: [], cwd: null })
      }
      phase = 'idle'
      prompt = number
      prompts.settle(true)
    } else if (name === 'B' && settleAnswer === null && fields[0] !== prompt) {
      prompt = fields[0] ?? ''
      call.meetPrompt()
    } else if (name === 'C' && phase === 'called') {
      call.end()
      phase = 'running'
      const hasBegun = fields[0] !== '0'
      tellBegun(hasBegun)
      for (const typed of early.splice(0)) if (hasBegun) void input.type(typed)
    } else if (name === 'D' && phase === 'running') {
      const [status = '', told = '', ...cwd] = fields
      const stages = told === '' ? [] : told.split(' ').map(Number)
      phase = 'ending'
      endRun({ kind: 'told', status: Number(status), stages, cwd: cwd.join(';') })
    } else if (name === 'I' && phase === 'starting') {
      // Its prompt is next, which start files may have kept from being ours.
      phase = 'ending'
    } else if (name === 'R' && settleAnswer) {
      clearTimeout(answerTimer)
      phase = 'idle'
      endAnswer(fields.join(';').replaceAll('\r\n', '\n'))
      prompts.settle(true)
    }
  }

  function endAnswer(answer: string | null): void {
    const settle = settleAnswer
    settleAnswer = null
    settle?.(answer)
  }

  /** An editor that is asked something leaves it at once for a fresh prompt. */
  function giveUpAnswer(): void {
    clearTimeout(answerTimer)
    phase = 'ending'
    void input.type(interruptKey)
    endAnswer(null)
  }

  function tellBegun(hasBegun: boolean): void {
    const settle = settleBegun
    settleBegun = null
    settle?.(hasBegun)
  }

  function endRun(end: CommandEnd): void {
    take = null
    const settle = settleRun
    settleRun = null
    settle?.(end)
  }

  const ended = program.ended.then(async (exit): Promise<Exit> => {
    call.end()
    clearTimeout(answerTimer)
    input.close()
    await output.drain()
    if (phase === 'running') await take?.(marks.rest())
    phase = 'gone'
    await output.close()
    // Its number may be another's from here on.
    terminals = []
    closeSync(slave)
    tellBegun(false)
    endRun({ kind: 'gone', exit })
    endAnswer(null)
    prompts.settle(false)
    return exit
  })

  async function close(): Promise<void> {
    if (phase !== 'gone') hangUp(pid)
    await ended
  }

  return {
    pid,
    group: program.group,
    ended,
    terminals: () => terminals,
    get alive() {
      return phase !== 'gone'
    },
    get idle() {
      return phase === 'idle'
    },
    get prompt() {
      return prompt
    },
    awaitPrompt() {
      if (phase === 'idle') return Promise.resolve(true)
      if (phase === 'gone') return Promise.resolve(false)
      if (settleAnswer) giveUpAnswer()
      return prompts.join()
    },
    run(chosen) {
      if (phase === 'gone') {
        return {
          begun: Promise.resolve(false),
          ended: ended.then((exit) => ({ kind: 'gone', exit })),
        }
      }
      take = chosen
      phase = 'called'
      call.begin()
      return {
        begun: new Promise((resolve) => (settleBegun = resolve)),
        ended: new Promise((resolve) => (settleRun = resolve)),
      }
    },
    ask(timeoutMs) {
      if (phase !== 'idle') return Promise.resolve(null)
      phase = 'called'
      void input.type(editorKeys.ask)
      return new Promise((resolve) => {
        settleAnswer = resolve
        answerTimer = setTimeout(giveUpAnswer, timeoutMs)
      })
    },
    type(data) {
      if (phase !== 'called' || settleAnswer) return input.type(data)
      // The editor would take it, and an interrupt would take the call away; it is for the command.
      early.push(data)
      return Promise.resolve()
    },
    resize(columns, rows) {
      if (output.isOpen()) parts.calls.resize(master, columns, rows)
    },
    waitingForInput() {
      if (phase === 'running') return look()
      const kind = phase === 'starting' ? look() : null
      // It is the editor at the first prompt then.
      return kind === 'raw' ? null : kind
    },
    close,
  }
}
