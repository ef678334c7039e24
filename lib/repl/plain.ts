import { stripVTControlCharacters } from 'node:util'
import type { Streams } from '../doors/streams.ts'
import { usualSize } from '../protocol/limits.ts'
import { nowMs } from '../system/clock.ts'
import type { Display, View } from './screen/display.ts'
import type { Emulator } from './screen/emulator.ts'
import { hearKeyboard, pastedText, typeAtEnd } from './screen/terminal.ts'
import { widthOf } from './screen/text.ts'

/** A terminal that only prints (`TERM=dumb`): lines in, text out, no escape sequences. */
export interface PlainDisplay extends Display {
  /** Null at the end: Ctrl-D on an empty line, or the terminal has gone. */
  readLine(mark: string): Promise<string | null>
}

/** One character, or what a key sends that types none. */
const key = /^(?:\u001B[^\u001B]*|.)/su

/** Echoes what is typed; Backspace, Ctrl-U, Ctrl-C and Ctrl-D do as in a terminal's own line mode. */
export function createPlainDisplay(streams: Streams, onEnd: () => void): PlainDisplay {
  const { stdout } = streams
  const views: View[] = []
  let pending = ''
  let asked: { mark: string; settle: (line: string | null) => void } | null = null
  let typed = ''
  let lastKeyMs = 0
  let open = true
  const write = (data: string | Uint8Array) => stdout.write(data)
  const size = () => stdout.size() ?? usualSize
  const plain = (lines: readonly string[]) => lines.map(stripVTControlCharacters)

  function settle(line: string | null): void {
    const answer = asked
    asked = null
    typed = ''
    answer?.settle(line)
  }

  function takeChar(char: string, mark: string): void {
    if (char === '\r' || char === '\n') {
      void write('\n')
      settle(typed)
    } else if (char === '\u0003') {
      void write(`^C\n${mark}`)
      typed = ''
    } else if (char === '\u0004') {
      if (typed === '') settle(null)
    } else {
      const next = typeAtEnd(typed, char)
      // What is taken back leaves the screen column by column.
      const gone = next.startsWith(typed) ? '' : typed.slice(next.length)
      void write('\b \b'.repeat(widthOf(gone)) + next.slice(typed.length))
      typed = next
    }
  }

  /** Gives what was typed to the line that is asked for, else to the view on top; else it waits. */
  function give(): void {
    while (pending !== '' && (asked || views.length > 0)) {
      const [next = ''] = key.exec(pending) ?? []
      pending = pending.slice(next.length)
      if (asked) takeChar(next, asked.mark)
      else views.at(-1)?.key(next)
    }
  }

  function onData(data: string): void {
    lastKeyMs = nowMs()
    pending += data
    give()
  }

  async function readLine(mark: string): Promise<string | null> {
    if (!open) return null
    void write(mark)
    return new Promise((settle) => {
      asked = { mark, settle }
      give()
    })
  }

  /** A view that is answered by a line is printed and asks for it; what was typed before it is for later. */
  async function ask(view: View): Promise<void> {
    while (open && views.at(-1) === view) {
      const { lines, cursor } = view.render(size().columns, size().rows)
      const [mark = ''] = lines.splice(cursor?.row ?? 0, 1)
      printWhole(lines)
      const before = pending
      pending = ''
      const line = await readLine(`${stripVTControlCharacters(mark).trim()} `)
      pending = before + pending
      for (const key of line === null ? '\u001B' : [...line, '\r']) view.key(key)
    }
  }

  function close(): void {
    if (!open) return
    open = false
    closeKeyboard()
    settle(null)
  }

  function end(): void {
    close()
    onEnd()
  }

  function printWhole(lines: readonly string[]): void {
    if (lines.length > 0) void write(`${plain(lines).join('\n')}\n`)
  }

  const closeKeyboard = hearKeyboard(streams, { onData, onEnd: end })

  return {
    isPlain: true,
    get columns() {
      return size().columns
    },
    get rows() {
      return size().rows
    },
    get lastKeyMs() {
      return lastKeyMs
    },
    print: printWhole,
    printWhole,
    open(view) {
      views.push(view)
      if (view.asksForLine) void ask(view)
      return () => {
        const at = views.indexOf(view)
        if (at >= 0) views.splice(at, 1)
      }
    },
    refresh: () => undefined,
    keepKey: (data) => void (pending += pastedText(data) ?? data),
    replayKeys: give,
    ring: () => void write('\u0007'),
    copy: () => undefined,
    clear: () => undefined,
    close,
    write,
    readLine,
  }
}

/** Stands where a screen has an emulator: what a command writes comes out as it is. */
export function createPassThrough({ write }: Pick<Display, 'write'>): Emulator {
  let last = '\n'
  return {
    write(bytes) {
      last = String.fromCharCode(bytes.at(-1) ?? 10)
      return write(bytes)
    },
    async settle() {
      if (last !== '\n') await write('\n')
      last = '\n'
    },
    resize: () => undefined,
    paint: () => ({ lines: [], cursor: null }),
    // Nothing of it is missing above.
    tail: () => ({ lines: [], cursor: null, wrapped: [], count: Infinity }),
    isFullScreen: false,
    isFilled: false,
    wasCleared: false,
    modes: { enter: () => '', leave: () => '', takesPastes: false },
    close: () => undefined,
  }
}
