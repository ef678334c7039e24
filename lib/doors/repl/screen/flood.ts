/** Bytes on their way to an emulator that draws slower than a program can write. */
export interface Flood {
  add(bytes: Uint8Array): void
  /** Settles when everything that was added is drawn or passed over. */
  settle(): Promise<void>
}

/** More than this is more than anybody sees before it has scrolled away. */
const drawnBytes = 128 * 1024
/** Of the modes of a terminal the last setting counts, also in what is not drawn. */
const modeSetting = /\u001B(?:\[\?[\d;]*[hl]|\[[\d;]*m(?![\s\S]*\u001B\[[\d;]*m))/g

/** `draw` settles when its bytes are drawn; `mayPass` says whether only the end of a text matters. */
export function createFlood(options: {
  draw: (bytes: Uint8Array) => Promise<void>
  mayPass: () => boolean
}): Flood {
  let waiting: Buffer[] = []
  let waitingBytes = 0
  let drawing: Promise<void> | null = null

  async function drawAll(): Promise<void> {
    while (waitingBytes > 0) {
      const bytes = take()
      await options.draw(bytes)
      // Keys and timers come before the next piece.
      await new Promise((resolve) => setImmediate(resolve))
    }
    drawing = null
  }

  function take(): Buffer {
    const all = waiting.length === 1 ? (waiting[0] ?? Buffer.alloc(0)) : Buffer.concat(waiting)
    waiting = []
    waitingBytes = 0
    return all
  }

  /** Keeps what may still be seen, and what passed text has set in the terminal. */
  function pass(): void {
    const all = take()
    const cut = all.indexOf(0x0a, all.length - drawnBytes) + 1 || all.length - drawnBytes
    const passed = all.toString('latin1', 0, cut)
    const settings = passed.includes('\u001B') ? (passed.match(modeSetting) ?? []).slice(-50) : []
    waiting = [Buffer.from(settings.join(''), 'latin1'), Buffer.from(all.subarray(cut))]
    waitingBytes = waiting.reduce((sum, piece) => sum + piece.length, 0)
  }

  return {
    add(bytes) {
      if (bytes.length === 0) return
      // The memory belongs to whoever read it.
      waiting.push(Buffer.from(bytes))
      waitingBytes += bytes.length
      if (waitingBytes > 4 * drawnBytes && options.mayPass()) pass()
      drawing ??= drawAll()
    },
    async settle() {
      while (drawing) await drawing
    },
  }
}
