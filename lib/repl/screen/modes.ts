import type { Terminal } from '@xterm/headless'
import { ownModes, programModes, resetCursorShape, resetModes } from './terminal.ts'

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

/** DEC private modes (xterm, ctlseqs). */
const bracketedPaste = 2004
const mouse = [9, 1000, 1002, 1003]
const showCursor = 25

/** `write` reaches the real terminal while the program has it, and nothing at other times. */
export function mirrorModes({ parser }: Terminal, write: (text: string) => void): MirroredModes {
  /** What was asked last, by what it is about. */
  const asked = new Map<string | number, string>()
  let showsCursor = true
  /** The stack of the kitty keyboard protocol: flags as they were pushed. */
  const kitty: number[] = []
  const isOn = (mode: number) => asked.get(mode)?.endsWith('h') ?? false

  function keep(name: string | number, sequence: string): true {
    asked.set(name, sequence)
    write(sequence)
    return true
  }

  for (const final of ['h', 'l'] as const) {
    parser.registerCsiHandler({ prefix: '?', final }, (params) => {
      for (const mode of params.flat()) {
        if (mode === showCursor) showsCursor = final === 'h'
        if (programModes.includes(mode)) keep(mode, `\u001B[?${mode}${final}`)
      }
      return false
    })
  }
  for (const final of ['=', '>'] as const) {
    parser.registerEscHandler({ final }, () => !keep('keypad', `\u001B${final}`))
  }
  parser.registerCsiHandler({ intermediates: ' ', final: 'q' }, ([shape]) =>
    keep('cursor', `\u001B[${Number(shape ?? 0)} q`),
  )
  parser.registerCsiHandler({ prefix: '>', final: 'm' }, (params) =>
    keep('keys', `\u001B[>${params.join(';')}m`),
  )
  parser.registerCsiHandler({ prefix: '>', final: 'u' }, ([flags]) => {
    kitty.push(Number(flags ?? 0))
    write(`\u001B[>${kitty.at(-1)}u`)
    return true
  })
  parser.registerCsiHandler({ prefix: '<', final: 'u' }, ([count]) => {
    const popped = kitty.splice(-Math.max(1, Number(count ?? 1))).length
    if (popped > 0) write(`\u001B[<${popped}u`)
    return true
  })
  parser.registerCsiHandler({ prefix: '=', final: 'u' }, (params) => {
    if (kitty.pop() === undefined) return true
    kitty.push(Number(params[0] ?? 0))
    write(`\u001B[=${params.join(';')}u`)
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
      return kitty.length > 0 || mouse.some(isOn)
    },
    get takesPastes() {
      return isOn(bracketedPaste)
    },
    enter() {
      return resetModes + [...asked.values(), ...kitty.map((flags) => `\u001B[>${flags}u`)].join('')
    },
    leave() {
      const pop = kitty.length > 0 ? `\u001B[<${kitty.length}u` : ''
      const shape = asked.has('cursor') ? resetCursorShape : ''
      return pop + shape + resetModes + ownModes
    },
  }
}
