import type { Terminal } from '@xterm/headless'
import { ownModes, programModes, resetCursorShape, resetModes } from './terminal.ts'

/**
 * What a program asks of its terminal that changes how keys and the mouse are reported. The real terminal
 * is asked for the same, so that its bytes can be handed on as they come. Of the kitty keyboard protocol a
 * program hears nothing, and takes keys in the usual encoding.
 */
export interface MirroredModes {
  /** What to write so that the real terminal does as the program has asked. */
  enter(): string
  /** What to write so that it does as before. */
  leave(): string
  readonly showsCursor: boolean
  /** Whether it wants the mouse: every key belongs to it then. */
  readonly takesMouse: boolean
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

  return {
    get showsCursor() {
      return showsCursor
    },
    get takesMouse() {
      return mouse.some(isOn)
    },
    get takesPastes() {
      return isOn(bracketedPaste)
    },
    enter: () => resetModes + [...asked.values()].join(''),
    leave: () => (asked.has('cursor') ? resetCursorShape : '') + resetModes + ownModes,
  }
}
