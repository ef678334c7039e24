import { type KeyId, matchesKey, setKittyProtocolActive } from '@mariozechner/pi-tui/dist/keys.js'
import { StdinBuffer } from '@mariozechner/pi-tui/dist/stdin-buffer.js'

/** Whether a key sequence, in any of the encodings of terminals, is this key (`ctrl+b`). */
export function isKey(data: string, ...keys: KeyId[]): boolean {
  return keys.some((key) => matchesKey(data, key))
}

/** The text of a key that types one, or of a paste; null for every other key. */
export function typedText(data: string): string | null {
  const isText = data.length > 0 && !/[\u0000-\u001F\u007F]/.test(data)
  return pastedText(data) ?? (isText ? data : null)
}

/** What a key, or a paste without its control characters, makes of a line that is typed at its end only. */
export function typeAtEnd(line: string, data: string): string {
  if (isKey(data, 'ctrl+u')) return ''
  if (isKey(data, 'backspace')) return [...line].slice(0, -1).join('')
  const typed = typedText(data) ?? ''
  return line + typed.replaceAll(/\s+/g, ' ').replaceAll(/\p{Cc}/gu, '')
}

/** The text of a paste; null for every key. */
export function pastedText(data: string): string | null {
  return data.startsWith('\u001B[200~') ? data.slice(6, -6) : null
}

/** Cuts what comes from the keyboard into whole key sequences. */
export interface Keyboard {
  take(data: string): void
  close(): void
}

/** The answer of a terminal that knows the kitty keyboard protocol to `CSI ? u`. */
const kittyAnswer = /^\u001B\[\?\d+u$/

export function createKeyboard(onKey: (data: string) => void, onKitty: () => void): Keyboard {
  const buffer = new StdinBuffer()
  buffer.on('data', (sequence) => {
    if (!kittyAnswer.test(sequence)) return onKey(sequence)
    setKittyProtocolActive(true)
    onKitty()
  })
  buffer.on('paste', (text) => onKey(`\u001B[200~${text}\u001B[201~`))
  return {
    take: (data) => buffer.process(data),
    close: () => buffer.destroy(),
  }
}
