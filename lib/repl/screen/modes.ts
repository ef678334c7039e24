import type { Terminal } from '@xterm/headless'

/**
 * What a program asks of its terminal that changes how keys and the mouse are reported. The real terminal
 * is asked for the same, so that its bytes can be handed on as they come.
 */
export interface MirroredModes {
  /** What to write so that the real terminal does as the program has asked. */
  enter(): string
  /** What to write so that it does as before. */
  leave(): string
  readonly showsCursor: boolean
  /** Whether it wants the mouse, or keys in another encoding: every key belongs to it then. */
  readonly takesKeyboard: boolean
  /** Whether it wants pastes between marks. */
  readonly takesPastes: boolean
}

/** DEC private modes (xterm, ctlseqs): cursor keys, mouse and its encodings, focus, bracketed paste. */
const bracketedPaste = 2004
const mirrored = new Set([1, 9, 1000, 1002, 1003, 1004, 1005, 1006, 1015, bracketedPaste])
const mouse = [9, 1000, 1002, 1003]
const showCursor = 25

/** `write` reaches the real terminal while the program has it, and nothing at other times. */
export function mirrorModes({ parser }: Terminal, write: (text: string) => void): MirroredModes {
  /** What is on: the sequences that set it and take it back. */
  const on = new Map<string | number, { set: string; reset: string }>()
  let showsCursor = true
  /** The stack of the kitty keyboard protocol: flags as they were pushed. */
  const kitty: number[] = []

  function setModes(params: readonly (number | number[])[], wanted: boolean): false {
    for (const mode of params.flat()) {
      if (mode === showCursor) showsCursor = wanted
      if (!mirrored.has(mode)) continue
      const [set, reset] = [`\u001B[?${mode}h`, `\u001B[?${mode}l`]
      if (wanted) on.set(mode, { set, reset })
      else on.delete(mode)
      write(wanted ? set : reset)
    }
    return false
  }

  function keep(name: string, set: string, reset: string, isSet = true): true {
    if (isSet) on.set(name, { set, reset })
    else on.delete(name)
    write(isSet ? set : reset)
    return true
  }

  parser.registerCsiHandler({ prefix: '?', final: 'h' }, (params) => setModes(params, true))
  parser.registerCsiHandler({ prefix: '?', final: 'l' }, (params) => setModes(params, false))
  parser.registerEscHandler({ final: '=' }, () => !keep('keypad', '\u001B=', '\u001B>'))
  parser.registerEscHandler({ final: '>' }, () => !keep('keypad', '\u001B=', '\u001B>', false))
  parser.registerCsiHandler({ intermediates: ' ', final: 'q' }, ([shape]) =>
    keep('cursor', `\u001B[${Number(shape ?? 0)} q`, '\u001B[0 q', Number(shape ?? 0) > 0),
  )
  parser.registerCsiHandler({ prefix: '>', final: 'm' }, (params) =>
    keep('keys', `\u001B[>${params.join(';')}m`, '\u001B[>4m'),
  )
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
      // nacre itself has asked for marks around pastes.
      const sets = ['\u001B[?2004l', ...[...on.values()].map(({ set }) => set)]
      return sets.join('') + kitty.map((flags) => `\u001B[>${flags}u`).join('')
    },
    leave() {
      const resets = [...on.values()].map(({ reset }) => reset).join('')
      const pop = kitty.length > 0 ? `\u001B[<${kitty.length}u` : ''
      return `${resets}${pop}\u001B[?2004h`
    },
  }
}
