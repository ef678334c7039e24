import { wrap } from '../screen/text.ts'
import type { SlashCommand, SlashContext } from './slash-command.ts'

const keyHelp = [
  ['!command', 'runs it in your shell; !! keeps it from the model'],
  ['!', 'on an empty line: bash mode; exit, Esc or Ctrl-D leaves it'],
  ['Tab, →', 'completes as your shell does; takes the grey suggestion'],
  ['Up, Ctrl-R', 'history: what begins like the line; search in all'],
  ['Ctrl-P', 'palette: commands and history'],
  ['Ctrl-O, v', 'all output of the last command'],
  ['Ctrl-C', 'interrupts the command, Ctrl-Z suspends it; Ctrl-B and /kill end it'],
  ['Ctrl-B', 'lets the command go on in the background; Ctrl-] in a full screen'],
  ['Alt-Enter', 'another line; unfinished quotes and loops go on by themselves'],
  ['Ctrl-X Ctrl-E', 'the line in $EDITOR'],
] as const

/** Two columns, or where the window has no room for them, one below the other. */
export function helpLines(
  commands: readonly SlashCommand[],
  { style, display }: SlashContext,
): string[] {
  const names = commands.map(({ name, hint = '' }) => `/${name} ${hint}`.trim())
  const rows = [
    ...keyHelp,
    ...commands.map(({ description }, index) => [names[index] ?? '', description] as const),
  ]
  const width = Math.max(...rows.map(([name]) => name.length)) + 2
  const room = display.columns - width
  if (room < width) return rows.flatMap(([name, text]) => [style.salmon(name), `  ${text}`])
  return rows.flatMap(([name, text]) => {
    const [first = '', ...rest] = wrap(text, room)
    return [
      style.salmon(name.padEnd(width)) + first,
      ...rest.map((line) => ' '.repeat(width) + line),
    ]
  })
}
