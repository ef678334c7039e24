import { usualSize } from '../../protocol/limits.ts'
import type { Streams } from '../../doors/streams.ts'
import { createKeyboard } from './keyboard.ts'

/** The terminal that a person sits at, while the REPL has it. */
export interface Terminal {
  readonly columns: number
  readonly rows: number
  write(text: string): void
  /** Bytes go to `raw` as they come instead of as keys; null: keys again. */
  setRaw(raw: ((data: string) => void) | null): void
  /** Keys in the kitty encoding where the terminal knows it; a program on it may want its own. */
  setKittyKeys(wanted: boolean): void
  /** Modes, cursor and colours as they were. May be called more than once. */
  restore(): void
}

export interface TerminalListeners {
  onKey(data: string): void
  onResize(): void
  /** The terminal has gone. */
  onEnd(): void
}

const kitty = { ask: '\u001B[?u', on: '\u001B[>1u', off: '\u001B[<u' }
/** Pastes are told as such, and whether the terminal has the focus. */
const pasteBegins = '\u001B[200~'
const modes = { on: '\u001B[?2004h\u001B[?1004h', off: '\u001B[?2004l\u001B[?1004l' }

export function openTerminal(streams: Streams, listeners: TerminalListeners): Terminal {
  const { stdin, stdout } = streams
  let raw: ((data: string) => void) | null = null
  let knowsKitty = false
  let kittyKeys = true
  let kittyOn = false
  let open = true
  const write = (text: string) => void stdout.write(text)

  function applyKitty(): void {
    const wanted = knowsKitty && kittyKeys
    if (wanted === kittyOn) return
    kittyOn = wanted
    write(wanted ? kitty.on : kitty.off)
  }

  const keyboard = createKeyboard(
    (data) => listeners.onKey(data),
    () => {
      knowsKitty = true
      applyKitty()
    },
  )
  let isFirst = true
  function onData(data: string): void {
    // What was typed before this terminal was open comes first, and through its line mode, where Enter is a
    // newline. Where nothing was, the first key is none that makes a new line, and a paste stands in marks.
    const typed = isFirst && !data.includes(pasteBegins) ? data.replaceAll('\n', '\r') : data
    isFirst = false
    if (raw) raw(typed)
    else keyboard.take(typed)
  }
  const onEnd = () => listeners.onEnd()
  stdin.setEncoding('utf8')
  stdin.setRawMode(true)
  stdin.on('data', onData).on('end', onEnd).on('error', onEnd)
  stdin.resume()
  const stopResize = stdout.onResize(() => listeners.onResize())
  write(modes.on + kitty.ask)

  return {
    get columns() {
      return (stdout.size() ?? usualSize).columns
    },
    get rows() {
      return (stdout.size() ?? usualSize).rows
    },
    write,
    setRaw(listener) {
      raw = listener
    },
    setKittyKeys(wanted) {
      kittyKeys = wanted
      applyKitty()
    },
    restore() {
      if (!open) return
      open = false
      keyboard.close()
      stopResize()
      stdin.off('data', onData).off('end', onEnd).off('error', onEnd)
      write(`${kittyOn ? kitty.off : ''}${modes.off}\u001B[0m\u001B[?25h`)
      stdin.setRawMode(false)
      stdin.pause()
    },
  }
}
