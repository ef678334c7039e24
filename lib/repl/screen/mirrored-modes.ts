import type { Terminal } from '@xterm/headless'

/**
 * What a program asks of its terminal that changes how keys and the mouse are told. It is asked of the
 * real terminal too, whose bytes can then be handed on as they come.
 */
export interface MirroredModes {
  /** What to write so that the real terminal does as the program has asked. */
  enter(): string
  /** What to write so that it does as before. */
  leave(): string
  readonly showsCursor: boolean
  /** Whether it wants the mouse, or keys told in another way: every key is its own then. */
  readonly takesKeyboard: boolean
  /** Whether it wants to be told which text was pasted. */
  readonly takesPastes: boolean
}

/** DEC private modes (xterm, ctlseqs): cursor keys, mouse and its encodings, focus, bracketed paste. */
const bracketedPaste = 2004
const mirrored = new Set([1, 9, 1000, 1002, 1003, 1004, 1005, 1006, 1015, bracketedPaste])
const mouse = [9, 1000, 1002, 1003]
const showCursor = 25

/** `write` reaches the real terminal while the program has it, and nothing at other times. */
export function mirrorModes({ parser }: Terminal, write: (text: string) => void): MirroredModes {
  const on = new Set<number>()
  let showsCursor = true
  let keypad = false
  let cursorShape = 0
  let otherKeys = ''
  /** The stack of the kitty keyboard protocol: flags as they were pushed. */
  const kitty: number[] = []

  function setModes(params: readonly (number | number[])[], wanted: boolean): false {
    for (const mode of params.flat()) {
      if (mode === showCursor) showsCursor = wanted
      if (!mirrored.has(mode)) continue
      if (wanted) on.add(mode)
      else on.delete(mode)
      write(`\u001B[?${mode}${wanted ? 'h' : 'l'}`)
    }
    return false
  }

  function setKeypad(wanted: boolean): false {
    keypad = wanted
    write(wanted ? '\u001B=' : '\u001B>')
    return false
  }

  parser.registerCsiHandler({ prefix: '?', final: 'h' }, (params) => setModes(params, true))
  parser.registerCsiHandler({ prefix: '?', final: 'l' }, (params) => setModes(params, false))
  parser.registerEscHandler({ final: '=' }, () => setKeypad(true))
  parser.registerEscHandler({ final: '>' }, () => setKeypad(false))
  parser.registerCsiHandler({ intermediates: ' ', final: 'q' }, ([shape]) => {
    cursorShape = Number(shape ?? 0)
    write(`\u001B[${cursorShape} q`)
    return true
  })
  parser.registerCsiHandler({ prefix: '>', final: 'm' }, (params) => {
    otherKeys = `\u001B[>${params.join(';')}m`
    write(otherKeys)
    return true
  })
  parser.registerCsiHandler({ prefix: '>', final: 'u' }, ([flags]) => {
    kitty.push(Number(flags ?? 0))
    write(`\u001B[>${kitty.at(-1)}u`)
    return true
  })
  parser.registerCsiHandler({ prefix: '<', final: 'u' }, ([count]) => {
    const popped = Math.min(kitty.length, Math.max(1, Number(count ?? 1)))
    kitty.length -= popped
    if (popped > 0) write(`\u001B[<${popped}u`)
    return true
  })
  parser.registerCsiHandler({ prefix: '=', final: 'u' }, (params) => {
    if (kitty.length > 0) kitty[kitty.length - 1] = Number(params[0] ?? 0)
    if (kitty.length > 0) write(`\u001B[=${params.join(';')}u`)
    return true
  })
  // Only the real terminal knows; its answer comes as typed bytes.
  parser.registerCsiHandler({ prefix: '?', final: 'u' }, () => {
    write('\u001B[?u')
    return true
  })

  return {
    get showsCursor() {
      return showsCursor
    },
    get takesKeyboard() {
      return kitty.length > 0 || mouse.some((mode) => on.has(mode))
    },
    get takesPastes() {
      return on.has(bracketedPaste)
    },
    enter() {
      const modes = [...on].map((mode) => `\u001B[?${mode}h`)
      const pushed = kitty.map((flags) => `\u001B[>${flags}u`)
      const paste = on.has(bracketedPaste) ? '' : '\u001B[?2004l'
      const shape = cursorShape === 0 ? '' : `\u001B[${cursorShape} q`
      return (
        paste + modes.join('') + pushed.join('') + otherKeys + shape + (keypad ? '\u001B=' : '')
      )
    },
    leave() {
      const modes = [...on]
        .filter((mode) => mode !== bracketedPaste)
        .map((mode) => `\u001B[?${mode}l`)
      const pop = kitty.length > 0 ? `\u001B[<${kitty.length}u` : ''
      const keys = otherKeys === '' ? '' : '\u001B[>4m'
      const shape = cursorShape === 0 ? '' : '\u001B[0 q'
      return `${modes.join('')}${pop}${keys}${shape}${keypad ? '\u001B>' : ''}\u001B[?2004h`
    },
  }
}
