import type { Run } from '../executor/executor.ts'
import { createDeferred } from '../protocol/deferred.ts'
import type { InputKind, Result } from '../protocol/result/result.ts'
import { formatDuration } from '../render/messages.ts'
import { nowMs } from '../system/clock.ts'
import { createPassThrough } from './plain.ts'
import type { Display, View } from './screen/display.ts'
import { createEmulator, type Emulator } from './screen/emulator.ts'
import { isKey, pastedText, typedText } from './screen/terminal.ts'
import { fit, joinFitting, type Style, widthOf } from './screen/text.ts'

/** How a line wants to be run. */
export interface Wanted {
  command: string
  /** Keep it for the next message to a model. */
  injected: boolean
  /** What stands in its place on the screen: nacre has put it together, and it is not kept. */
  shownAs?: string
}

/** A command on its terminal, whether or not somebody looks at it. */
export interface ShownCommand {
  readonly wanted: Wanted
  readonly startedMs: number
  readonly emulator: Emulator
  /** Null until it has been allowed and has started. */
  readonly run: Run | null
  /**
   * Shows it until it has ended (its result), or is left to itself (null). `stop`: before it has begun.
   * Whoever shows it once more visits it.
   */
  show(started: Promise<Run>, stop: () => void): Promise<Result | null>
  readonly isShown: boolean
}

const tickMs = 100
/** After it has read a key, for how long a program counts as one that reads them. */
const listeningMs = 1000
/** Programs that run others as another user, whose waiting nobody can see. */
const hidden = /^\s*(?:sudo|doas|su|pkexec|machinectl)\b/
/** Its headline stays in sight above it, and at its end it takes as many rows as before. */
const otherRows = 5

/**
 * A command that runs: the end of its output in its colours, and below how long it has run, or its whole
 * screen. Keys go to its program if that reads any; else they wait, visibly, for it or the next prompt.
 */
export function createShownCommand(
  wanted: Wanted,
  { display, style }: { display: Display; style: Style },
): ShownCommand {
  const startedMs = nowMs()
  let run: Run | null = null
  let listenedMs = hidden.test(wanted.command) ? Infinity : -Infinity
  /** Set while it waits for keys; sure when that is not the shell after its end. */
  let waiting: { kind: InputKind; isSure: boolean } | null = null
  /** It reads single keys, and has filled the screen: it draws on all of it (less -X, as git starts it). */
  let fillsScreen = false
  let isShown = false
  /** It went on in the background before, and the person came back to look. */
  let isVisited = false
  /** Whether the real terminal is its own now. */
  let isLent = false
  let interrupted = false
  /** What was typed while it read nothing. */
  let ahead: string[] = []
  let leave = () => {}
  let stopStart = () => {}
  let size = { columns: display.columns, rows: display.rows }

  const emulator = display.isPlain
    ? createPassThrough(display)
    : createEmulator({
        ...size,
        onAnswer: type,
        onModes: (text) => isLent && void display.write(text),
        onDrawn(cleared) {
          if (cleared && isShown) display.clear(cleared)
          if (isShown) display.refresh()
        },
      })

  function type(data: string): void {
    // Nobody reads what is sent to a program that has just ended.
    run?.write(data).catch(() => undefined)
  }

  /** What a person types, as the program wants it: a paste without marks unless it has asked for them. */
  function typeKey(data: string): void {
    const pasted = emulator.modes.takesPastes ? null : pastedText(data)
    type(pasted?.replaceAll(/\r?\n/g, '\r') ?? data)
  }

  function takeAhead(take: (data: string) => void): void {
    for (const key of ahead.splice(0)) take(key)
  }

  /** Asks the kernel, which takes a moment, what the program waits for. */
  function look(): void {
    const kind = run?.look().waitingForInput ?? null
    if (kind === null) waiting = null
    else if (waiting?.isSure || kind === 'password') {
      // No shell waits at its prompt with a hidden echo.
      waiting = { kind, isSure: true }
      listenedMs = Math.max(listenedMs, nowMs())
      fillsScreen ||= kind === 'raw' && emulator.isFilled
    } else if (waiting === null) {
      const seen = { kind, isSure: false }
      waiting = seen
      // In a turn of the event loop the end of the command is heard, if it was its shell that waits.
      setImmediate(() => setImmediate(() => (seen.isSure = true)))
    }
  }

  /** Whether its program reads keys, which only Linux can tell. */
  function isListening(): boolean {
    if (process.platform !== 'linux' || emulator.isFullScreen) return true
    look()
    return nowMs() - listenedMs < listeningMs
  }

  const waitsFor = () => (waiting?.isSure ? waiting.kind : null)
  const hasBegun = () => run !== null && run.pid !== null

  function describe(columns: number): string {
    const elapsedMs = Math.floor((nowMs() - startedMs) / tickMs) * tickMs
    const parts = [hasBegun() ? 'running' : 'your shell is starting', formatDuration(elapsedMs)]
    const kind = waitsFor()
    const asksSecret = kind === 'password'
    const leaveKey = isVisited || kind === 'raw' ? 'Ctrl-]' : 'Ctrl-B'
    const leaving = `${leaveKey} ${isVisited ? 'leaves' : 'background'}`
    if (asksSecret) parts.push('a secret is not shown')
    else if (interrupted && hasBegun())
      parts.push(`interrupted · ${leaveKey}, /kill${isVisited ? ' %n' : ''} ends it`)
    // Below the cursor a line is to be short: some terminals lose the cursor if one is wrapped anew.
    else if (kind === null) parts.push('Ctrl-C stops', leaving)
    else parts.push(leaving)
    const typed = ahead.map((key) => (isKey(key, 'enter') ? '⏎' : (typedText(key) ?? ''))).join('')
    if (typed === '' || asksSecret) return style.dim(joinFitting(parts, columns - 1))
    const told = joinFitting(parts, Math.max(columns >> 1, columns - widthOf(typed) - 3))
    return fit(`${style.dim(told)}  ${typed}`, columns - 1)
  }

  function interrupt(): void {
    interrupted = true
    if (hasBegun()) type('\u0003')
    else stopStart()
  }

  /** The window may have another size than it had. */
  function fitWindow(): void {
    const { columns, rows } = display
    if (columns === size.columns && rows === size.rows) return
    size = { columns, rows }
    run?.resize(columns, rows)
    emulator.resize(columns, rows)
  }

  /** Ctrl-B belongs to a program that reads keys; one of nacre's own (`job attach`) is left by Ctrl-] itself. */
  function isLeaveKey(data: string): boolean {
    if (isKey(data, 'ctrl+]')) return isVisited || wanted.shownAs === undefined
    return isKey(data, 'ctrl+b') && waitsFor() !== 'raw'
  }

  function leaveAlone(): void {
    takeAhead((key) => display.keepKey(key))
    if (hasBegun()) leave()
  }

  const screen = {
    isRaw: true,
    enter() {
      isLent = true
      return emulator.modes.enter()
    },
    leave() {
      isLent = false
      return emulator.modes.leave()
    },
  }
  const view: View = {
    get wholeScreen() {
      return emulator.isFullScreen || fillsScreen ? screen : null
    },
    render(columns, rows) {
      fitWindow()
      if (isLent) return emulator.paint()
      const { lines, cursor } = emulator.tail(Math.max(3, rows - otherRows))
      const reads = waitsFor() !== null
      // Whoever types on a line sees it, also while it is empty.
      if (reads && cursor?.row === lines.length) lines.push('')
      return { lines: [...lines, describe(columns)], cursor: reads ? cursor : null }
    },
    key(data) {
      // As telnet has it.
      if (isLent) return isKey(data, 'ctrl+]') ? leave() : type(data)
      if (isKey(data, 'ctrl+c')) {
        ahead = []
        interrupt()
      } else if (isLeaveKey(data)) leaveAlone()
      else if (isKey(data, 'ctrl+z')) type('\u001A')
      else if (data === '\u001C') type(data)
      else if (isListening()) {
        takeAhead(typeKey)
        typeKey(data)
      } else if (isKey(data, 'escape')) (isVisited ? leaveAlone : interrupt)()
      else if (isKey(data, 'backspace')) ahead.pop()
      else ahead.push(data)
    },
  }

  return {
    wanted,
    startedMs,
    emulator,
    get run() {
      return run
    },
    async show(started, stop) {
      isVisited = run !== null
      isShown = true
      interrupted = false
      stopStart = stop
      const { promise: left, resolve } = createDeferred<null>()
      leave = () => resolve(null)
      const close = display.open(view)
      // What came together with the line's Enter.
      display.replayKeys()
      const ticking = setInterval(() => {
        look()
        if (ahead.length > 0 && isListening()) takeAhead(typeKey)
        display.refresh()
      }, tickMs).unref()
      try {
        run ??= await started
        const ended = run.ended.then(async (result) => {
          await emulator.settle()
          return result
        })
        return await Promise.race([ended, left])
      } finally {
        clearInterval(ticking)
        isShown = false
        // What nobody has read is for the prompt.
        takeAhead((key) => display.keepKey(key))
        close()
      }
    },
    get isShown() {
      return isShown
    },
  }
}
