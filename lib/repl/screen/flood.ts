import { setTimeout as delay } from 'node:timers/promises'
import { nowMs } from '../../system/clock.ts'

/** Bytes on their way to an emulator that draws slower than a program can write. */
export interface Flood {
  add(bytes: Uint8Array): void
  /** Settles when everything that was added is drawn or passed over. */
  settle(): Promise<void>
  /** Whether a part has been passed over in the last two frames: more comes than anybody can read. */
  readonly isPassing: boolean
}

/** So much is drawn in one turn of the event loop: keys wait no longer. */
const turnBytes = 8 * 1024
/** More than this at once is a flood, of which each frame shows the end. */
const floodBytes = 16 * 1024
/** What is kept of it, whatever its lines are like. */
const keptBytes = { least: 4 * 1024, most: 256 * 1024 }
/** A text that is drawn over itself is a flood only where it is so long. */
const redrawnBytes = 512 * 1024
/** At most so many frames a second are of use to an eye. */
const frameMs = 16
/** What moves the cursor counts from where it was: all escape sequences but colours, links, and the end of a line. */
const moving = /\u001B(?!\[[\d;:]*[mK]|\]8;)/
/** What sets a mode of the terminal or a colour, and what resets all colours. */
const setting = /\u001B\[(?:\?[\d;]*[hl]|[\d;:]*m)/g
const resetting = /\[0*m$/
/** Ends every sequence of a terminal that is not whole (CAN, ECMA-48 8.3.6). */
const cancel = '\u0018'

/**
 * `draw` settles when its bytes are drawn; `mayPass` says whether only the end of a text matters, and
 * `lines` of how many lines.
 */
export function createFlood(options: {
  draw: (bytes: Uint8Array) => Promise<void>
  mayPass: () => boolean
  lines: () => number
}): Flood {
  let waiting: Buffer[] = []
  let waitingBytes = 0
  let drawing: Promise<void> | null = null
  let passAtBytes = floodBytes
  let passedAtMs = -Infinity
  let isSettling = false
  const isPassing = () => nowMs() - passedAtMs < 2 * frameMs

  async function drawAll(): Promise<void> {
    while (waitingBytes > 0) {
      const startedMs = nowMs()
      await options.draw(takeTurn())
      // Keys and timers come before the next piece, and the end of a flood once in a frame.
      const restMs = startedMs + frameMs - nowMs()
      const mayRest = isPassing() && !isSettling && restMs > 0
      await (mayRest ? delay(restMs) : new Promise((resolve) => setImmediate(resolve)))
    }
    passAtBytes = floodBytes
    drawing = null
  }

  function takeTurn(): Buffer {
    const taken: Buffer[] = []
    let room = turnBytes
    while (room > 0) {
      const next = waiting.shift()
      if (next === undefined) break
      taken.push(next.subarray(0, room))
      if (next.length > room) waiting.unshift(next.subarray(room))
      room -= Math.min(room, next.length)
    }
    waitingBytes -= turnBytes - room
    return taken.length === 1 && taken[0] ? taken[0] : Buffer.concat(taken)
  }

  /** Keeps what may still be seen, and what passed text has set in the terminal. */
  function pass(): void {
    const all = Buffer.concat(waiting)
    const isDrawnOver = all.includes(0x1b) && moving.test(all.toString('latin1'))
    const cut = isDrawnOver && all.length < redrawnBytes ? 0 : findCut(all)
    const passed = all.toString('latin1', 0, cut)
    // What is drawn already may have ended within a sequence, or a line.
    const border = `${cancel}${listSettings(passed).join('')}${passed.endsWith('\n') ? '\r\n' : ''}`
    waiting = cut === 0 ? [all] : [Buffer.from(border, 'latin1'), all.subarray(cut)]
    waitingBytes = waiting.reduce((sum, piece) => sum + piece.length, 0)
    passAtBytes = waitingBytes + floodBytes
    if (cut > 0) passedAtMs = nowMs()
  }

  /** Where the last lines of a text begin that may be seen. */
  function findCut(all: Buffer): number {
    const first = Math.max(0, all.length - keptBytes.most)
    let cut = all.length
    for (let left = options.lines(); left >= 0 && cut > first; left--) {
      cut = all.lastIndexOf(0x0a, cut - 1)
    }
    return startOfSign(all, Math.max(first, Math.min(cut + 1, all.length - keptBytes.least)))
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
      if (waitingBytes > passAtBytes && options.mayPass()) pass()
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

/** The beginning of a sequence at its end, which is not whole: a colour, or a title and the like. */
const unfinished = /\u001B(?:\[[\d;:?]*|[\]P^_][^\u0007\u001B]*)?$/

/** A longer sequence, which is a title that nobody ended, may be cut. */
const longestSequenceBytes = 4 * 1024
/** A character has so many bytes behind its first one. */
const mostFollowing = 3

/** The place itself, or where the sequence or the character begins that it would cut in two. */
function startOfSign(all: Buffer, place: number): number {
  const before = all.toString('latin1', Math.max(0, place - longestSequenceBytes), place)
  const escape = before.lastIndexOf('\u001B')
  if (escape >= 0 && unfinished.test(before.slice(escape))) return place - before.length + escape
  let start = place
  while (start > 0 && place - start < mostFollowing && ((all[start] ?? 0) & 0xc0) === 0x80) start--
  return start
}

/** What a passed text has set in the terminal that still holds after it. */
function listSettings(passed: string): string[] {
  const all = passed.includes('\u001B') ? (passed.match(setting) ?? []) : []
  const reset = all.findLastIndex((it) => resetting.test(it))
  return all.filter((it, at) => at >= reset || !it.endsWith('m')).slice(-50)
}
