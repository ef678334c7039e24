/** Everything but colours of what a shell writes beside its commands (ECMA-48: CSI, OSC, other ESC). */
const otherSequences =
  /\u001B\[[0-?]*[ -/]*[@-ln-~]|\u001B[\]P^_X][^\u0007\u001B]*(?:\u0007|\u001B\\)|\u001B[ -/]*[0-Z\\^-~]|[\u0000-\u0008\u000B-\u001A\u001C-\u001F\u007F]/g
const colours = /\u001B\[[0-9;:]*m/g

/** The rest of a line is waited for so long, and more lines that belong together. */
const restMs = 100
const frameMs = 16
/** So much of what start files have to say is shown. */
const startLines = 20

/**
 * Prints what a person's shell writes while none of its commands runs: greetings, the errors of start
 * files, what prompt hooks and background jobs say. What only moves the cursor says nothing.
 */
export function createStrayOutput(print: (lines: readonly string[]) => void): {
  take(bytes: Uint8Array, phase: 'start' | 'hook' | 'idle'): void
  /** Prints what waits for the rest of its line: something else is about to be printed. */
  flush(): void
} {
  const decoder = new TextDecoder()
  let text = ''
  let timer: NodeJS.Timeout | null = null
  let shownAtStart = 0

  function flush(): void {
    if (timer) clearTimeout(timer)
    timer = null
    const lines = text.split('\n').filter((line) => line.replaceAll(colours, '').trim() !== '')
    text = ''
    if (lines.length > 0) print(lines.map((line) => line.trimEnd()))
  }

  return {
    take(bytes, phase) {
      const clean = decoder.decode(bytes, { stream: true }).replaceAll(otherSequences, '')
      if (phase === 'start') {
        shownAtStart += clean.split('\n').length - 1
        if (shownAtStart > startLines) return
      }
      text += clean
      timer ??= setTimeout(flush, text.endsWith('\n') ? frameMs : restMs).unref()
    },
    flush,
  }
}
