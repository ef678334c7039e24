import type { Run } from '../../executor/executor.ts'
import { createDeferred } from '../../protocol/deferred.ts'
import type { InputKind, Result } from '../../protocol/result/result.ts'
import { nowMs } from '../../system/clock.ts'
import { createForeground } from './foreground.ts'
import type { Display } from '../screen/display.ts'
import { createEmulator, type Emulator } from '../screen/emulator.ts'
import { createOverlay } from '../screen/overlay.ts'
import { pastedText } from '../screen/keyboard.ts'
import type { Style } from '../screen/style.ts'

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
  /** Null until it has been let through and has its turn. */
  readonly run: Run | null
  /**
   * Shows it until it has ended (its result), or is left to itself (null). `stop`: before it has begun.
   * Whoever shows it once more visits it.
   */
  show(started: Promise<Run>, stop: () => void): Promise<Result | null>
  resize(columns: number, rows: number): void
}

const tickMs = 100
/** After it has read a key, for how long a program counts as one that reads them. */
const listeningMs = 1000
/** Programs that run others as another user, whose waiting nobody can see. */
const hidden = /^\s*(?:sudo|doas|su|pkexec|machinectl)\b/

export function createShownCommand(
  wanted: Wanted,
  { display, style, colored }: { display: Display; style: Style; colored: boolean },
): ShownCommand {
  const startedMs = nowMs()
  let run: Run | null = null
  let listenedMs = hidden.test(wanted.command) ? Infinity : -Infinity
  /** Set while it waits for keys; sure when that is not the shell after its end. */
  let waiting: { kind: InputKind; isSure: boolean } | null = null
  /** It reads single keys, and has filled the screen: it draws on all of it (less -X, as git starts it). */
  let fillsScreen = false
  let isShown = false
  /** Whether the real terminal is its own now. */
  let isLent = false
  let cleared: { scrolledAway: boolean } | null = null
  let draw = () => {}

  const emulator = createEmulator({
    columns: display.columns,
    rows: display.rows,
    colored,
    onAnswer: type,
    onModes: (text) => isLent && display.terminal.write(text),
    onCleared(all) {
      cleared = { scrolledAway: all || (cleared?.scrolledAway ?? false) }
    },
    onDrawn() {
      if (cleared && isShown) display.clear(cleared)
      cleared = null
      draw()
    },
  })

  function type(data: string): void {
    // What a program that has just ended is sent, nobody reads.
    run?.write(data).catch(() => undefined)
  }

  /** What a person types, as the program wants to have it: a paste is typed where it has not asked for marks. */
  function typeKey(data: string): void {
    const pasted = emulator.modes.takesPastes ? null : pastedText(data)
    type(pasted?.replaceAll(/\r?\n/g, '\r') ?? data)
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
    // A look takes as long as all else that a key does; in a flood nobody has seen a question.
    if (!emulator.isFlooded) look()
    return nowMs() - listenedMs < listeningMs
  }

  async function show(started: Promise<Run>, stop: () => void): Promise<Result | null> {
    const isVisited = run !== null
    const { promise: left, resolve: leave } = createDeferred<null>()
    const hasBegun = () => run !== null && run.pid !== null
    const foreground = createForeground({
      style,
      emulator,
      startedMs,
      hasBegun,
      isVisited,
      isListening,
      waitsFor: () => (waiting?.isSure ? waiting.kind : null),
      onInput: typeKey,
      onInterrupt: () => (hasBegun() ? type('\u0003') : stop()),
      onBackground: () => hasBegun() && leave(null),
      onAhead: (data) => display.keepKey(data),
    })
    const overlay = createOverlay({ emulator, onInput: type, onLeave: () => leave(null) })
    let takeBack = null as (() => void) | null
    function giveBack(): void {
      isLent = false
      takeBack?.()
      takeBack = null
    }
    isShown = true
    draw = () => {
      const wantsScreen = emulator.isFullScreen || fillsScreen
      if (wantsScreen === isLent) return display.refresh()
      if (wantsScreen) {
        takeBack = display.lend(overlay)
        isLent = true
      } else {
        giveBack()
        display.terminal.setKittyKeys(false)
      }
    }
    display.terminal.setKittyKeys(false)
    const close = display.open(foreground)
    // What came together with the line's Enter.
    display.replayKeys()
    draw()
    const ticking = setInterval(() => {
      look()
      foreground.tick()
      draw()
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
      draw = () => {}
      isShown = false
      giveBack()
      foreground.close()
      close()
      display.terminal.setKittyKeys(true)
    }
  }

  return {
    wanted,
    startedMs,
    emulator,
    get run() {
      return run
    },
    show,
    resize(columns, rows) {
      run?.resize(columns, rows)
      emulator.resize(columns, rows)
    },
  }
}
