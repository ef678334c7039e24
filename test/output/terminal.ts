// oxlint-disable-next-line import/default -- a CommonJS package: Node gives it a default export
import graphemes from '@xterm/addon-unicode-graphemes'
import xterm from '@xterm/headless'

/**
 * What a person would copy out of a terminal with a scrollback: a screen that is cleared moves into the
 * scrollback, which nothing clears. Without trailing blanks.
 */
export async function copyFromTerminal(
  raw: string | Uint8Array,
  size: { rows: number; columns: number },
  convertEol = false,
): Promise<string> {
  const terminal = new xterm.Terminal({
    rows: size.rows,
    cols: size.columns,
    scrollback: 100_000,
    scrollOnEraseInDisplay: true,
    convertEol,
    allowProposedApi: true,
    logLevel: 'off',
  })
  terminal.loadAddon(new graphemes.UnicodeGraphemesAddon())
  terminal.parser.registerCsiHandler({ final: 'J' }, ([which]) => which === 3)
  // A reset (`ESC c`) would clear the scrollback too, which a person's terminal keeps.
  const bytes = Buffer.from(raw as string)
    .toString('latin1')
    .replaceAll('\u001bc', '\u001b[2J\u001b[H')
  await new Promise<void>((resolve) => {
    terminal.write(Buffer.from(bytes, 'latin1'), resolve)
  })
  const { normal } = terminal.buffer
  let text = ''
  for (let at = 0; at < normal.length; at++) {
    const line = normal.getLine(at)!
    if (at > 0 && !line.isWrapped) text += '\n'
    text += line.translateToString(normal.getLine(at + 1)?.isWrapped !== true)
  }
  terminal.dispose()
  return withoutBlanks(text)
}

export const withoutBlanks = (text: string) => text.replace(/ +$/gm, '').replace(/\n+$/, '')
