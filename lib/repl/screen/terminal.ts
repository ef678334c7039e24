import { spawn } from 'node:child_process'
import { type KeyId, matchesKey } from '@mariozechner/pi-tui/dist/keys.js'
import { StdinBuffer } from '@mariozechner/pi-tui/dist/stdin-buffer.js'
import type { Streams } from '../../doors/streams.ts'

const paste = { begins: '\u001B[200~', ends: '\u001B[201~' }
/** What nacre asks of the terminal: pastes between marks. */
export const ownModes = '\u001B[?2004h'
/**
 * DEC private modes (xterm, ctlseqs) of a program for keys: cursor keys, mouse and its encodings, focus, pastes
 * between marks.
 */
export const programModes = [1, 9, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 2004]
/** None of them, and the keypad and other keys as ever. */
export const resetModes = `${programModes.map((mode) => `\u001B[?${mode}l`).join('')}\u001B>\u001B[>4m`
export const resetCursorShape = '\u001B[0 q'

/** Hears what a person types, as it comes and without an echo. Gives what undoes it. */
export function hearKeyboard(
  { stdin }: Streams,
  { onData, onEnd }: { onData: (data: string) => void; onEnd: () => void },
): () => void {
  let isFirst = true

  function take(data: string): void {
    // What was typed before this terminal was open comes first, and through its line mode, in which Enter is a
    // newline. If nothing was, the first key is none that makes a new line, and a paste stands in marks.
    onData(isFirst && !data.includes(paste.begins) ? data.replaceAll('\n', '\r') : data)
    isFirst = false
  }

  stdin.setEncoding('utf8')
  stdin.setRawMode(true)
  stdin.on('data', take).on('end', onEnd).on('error', onEnd)
  stdin.resume()
  return () => {
    stdin.off('data', take).off('end', onEnd).off('error', onEnd)
    stdin.setRawMode(false)
    stdin.pause()
  }
}

/** Cuts what comes from a keyboard into whole key sequences, and pastes with their marks. */
export function cutKeys(onKey: (data: string) => void): StdinBuffer {
  const keyboard = new StdinBuffer()
  keyboard.on('data', onKey)
  keyboard.on('paste', (text) => onKey(asPaste(text)))
  return keyboard
}

/** Whether a key sequence, in any of the encodings of terminals, is one of these keys (`ctrl+b`). */
export function isKey(data: string, ...keys: KeyId[]): boolean {
  return keys.some((key) => matchesKey(data, key))
}

/** A text as a terminal sends a paste. */
export function asPaste(text: string): string {
  return paste.begins + text + paste.ends
}

/** The text of a paste; null for every key. */
export function pastedText(data: string): string | null {
  return data.startsWith(paste.begins) ? data.slice(paste.begins.length, -paste.ends.length) : null
}

/** The text of a key that types one, or of a paste; null for every other key. */
export function typedText(data: string): string | null {
  const isText = data.length > 0 && !/[\u0000-\u001F\u007F]/.test(data)
  return pastedText(data) ?? (isText ? data : null)
}

/** What a key, or a paste without its control characters, makes of a line that is typed at its end only. */
export function typeAtEnd(line: string, data: string): string {
  if (isKey(data, 'ctrl+u')) return ''
  if (isKey(data, 'backspace'))
    return line.slice(0, [...new Intl.Segmenter().segment(line)].at(-1)?.index)
  const typed = typedText(data) ?? ''
  return line + typed.replaceAll(/\s+/g, ' ').replaceAll(/\p{Cc}/gu, '')
}

/** What undoes all that was asked of the terminal, as printf(1) reads it; nothing here moves the cursor. */
const restored =
  `\u001B[?1047l\u001B[?2026l${resetModes}${resetCursorShape}\u001B[0m\u001B[?25h`.replaceAll(
    '\u001B',
    String.raw`\033`,
  )

/**
 * What raw mode takes away (uv_tty_set_mode of libuv). A shell that has the terminal back by then has done
 * that itself, and needs other modes for its own line: with `isig` on there is nothing to do.
 */
const script = `exec 3>&1
read -r farewell && exit
printf '${restored}'
case $(stty -a <&3) in *-isig*) stty brkint icrnl ixon echo icanon iexten isig <&3 ;; esac`

/**
 * Starts a shell that waits at a pipe from nacre and gives the terminal back when nacre was killed, which
 * no handler can do. It has no controlling terminal, so that it is not stopped for changing this one. It is
 * started before anything is open that it could inherit. Returns what dismisses it.
 */
export function guardTerminal(): () => void {
  const child = spawn('/bin/sh', ['-c', script], {
    stdio: ['pipe', 1, 'ignore'],
    detached: true,
  })
  // Without it everything works as long as nobody kills nacre.
  child.on('error', () => undefined)
  child.stdin?.on('error', () => undefined)
  child.unref()
  return () => child.stdin?.end('farewell\n')
}
