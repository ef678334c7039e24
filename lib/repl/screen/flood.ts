import { setTimeout as delay } from 'node:timers/promises'
import { nowMs } from '../../system/clock.ts'

/** Bytes on their way to an emulator that draws slower than a program can write. */
export interface Flood {
  add(bytes: Uint8Array): void
  /** Settles when everything that was added is drawn or skipped. */
  settle(): Promise<void>
  /** Whether a part has been skipped in the last two frames: more comes than anybody can read. */
  readonly isPassing: boolean
}

/** So much is drawn in one turn of the event loop: keys wait no longer. */
const turnBytes = 8 * 1024
/** So much of a flood is drawn at its end. */
const keptBytes = 64 * 1024
/** More frames a second are of no use to an eye. */
const frameMs = 16
/** What sets a mode of the terminal or a colour, and what resets all colours. */
const setting = /\u001B\[(?:\?[\d;]*[hl]|[\d;:]*m)/g
const resetting = /\[0*m$/
/** Ends every sequence of a terminal that is not whole (CAN, ECMA-48 8.3.6). */
const cancel = '\u0018'

/** `draw` settles when its bytes are drawn; `mayPass` says whether only the end of the text matters. */
export function createFlood(
  draw: (bytes: Uint8Array) => Promise<void>,
  mayPass: () => boolean,
): Flood {
  let waiting: Buffer[] = []
  let waitingBytes = 0
  let drawing: Promise<void> | null = null
  let passedAtMs = -Infinity
  let isSettling = false
  const isPassing = () => nowMs() - passedAtMs < 2 * frameMs

  async function drawAll(): Promise<void> {
    while (waitingBytes > 0) {
      const startedMs = nowMs()
      const all = Buffer.concat(waiting)
      wait(all.subarray(turnBytes))
      await draw(all.subarray(0, turnBytes))
      // Keys and timers come before the next piece, and the end of a flood once in a frame.
      const restMs = startedMs + frameMs - nowMs()
      const mayRest = isPassing() && !isSettling && restMs > 0
      await (mayRest ? delay(restMs) : new Promise((resolve) => setImmediate(resolve)))
    }
    drawing = null
  }

  function wait(...pieces: Buffer[]): void {
    waiting = pieces
    waitingBytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  }

  /** Keeps the end, from the start of a line where it has one, and the settings of what is skipped. */
  function pass(): void {
    const all = Buffer.concat(waiting)
    const newline = all.indexOf(0x0a, all.length - keptBytes)
    let cut = newline < 0 ? all.length - keptBytes : newline + 1
    while (newline < 0 && ((all[cut] ?? 0) & 0xc0) === 0x80) cut++
    const settings = listSettings(all.toString('latin1', 0, cut))
    // What is drawn already may end within a sequence, or a line.
    const border = `${cancel}${settings.join('')}${newline < 0 ? '' : '\r\n'}`
    wait(Buffer.from(border, 'latin1'), all.subarray(cut))
    passedAtMs = nowMs()
  }

  return {
    get isPassing() {
      return isPassing()
    },
    add(bytes) {
      if (bytes.length === 0) return
      // The memory belongs to whoever read it.
      waiting.push(Buffer.from(bytes))
      waitingBytes += bytes.length
      if (waitingBytes > 2 * keptBytes && mayPass()) pass()
      if (drawing) return
      drawing = drawAll()
      // Whoever waits in `settle` hears of a failure.
      drawing.catch(() => undefined)
    },
    async settle() {
      isSettling = true
      while (drawing) await drawing
      isSettling = false
    },
  }
}

/** What a skipped text has set in the terminal that still holds after it. */
function listSettings(passed: string): string[] {
  const all = passed.includes('\u001B') ? (passed.match(setting) ?? []) : []
  const reset = all.findLastIndex((it) => resetting.test(it))
  return all.filter((it, at) => at >= reset || !it.endsWith('m')).slice(-50)
}
