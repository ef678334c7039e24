import { anyText, obscured, spelled, unknown } from '../shell/marked-text.ts'
import type { Call, Follow } from '../shell/interpreter.ts'
import { readOptions } from '../shell/options.ts'
import { quote } from './quote.ts'

const style = {
  shortValues: 'adEILnPs',
  longValues: [
    'arg-file',
    'delimiter',
    'max-lines',
    'max-args',
    'max-procs',
    'max-chars',
    'process-slot-var',
  ],
  stopsAtOperand: true,
}

/** Runs its command on the words that it reads. */
export const xargs: Follow = ({ words, scope, stdin, interpreter }) => {
  const { flags, values, operands } = readOptions(words.slice(1), style)
  const command = operands.length > 0 ? operands : ['echo']
  const byLine = flags.some((flag) => /^(?:0|null|d|delimiter|I|i|replace)$/.test(flag))
  const items = readItems(values.has('a') || values.has('arg-file') ? null : stdin, byLine)
  const placeholder =
    values.get('I') ??
    values.get('replace') ??
    (flags.includes('i') || flags.includes('replace') ? '{}' : null)
  let output = ''
  if (placeholder === null)
    output += interpreter.runWords([...whole(command, items), ...items], scope.clone(), null)
  else {
    for (const item of items) {
      const filled = command.map((word) => word.replaceAll(placeholder, () => item))
      output += interpreter.runWords(whole(filled, [item]), scope.clone(), null)
    }
  }
  return output
}

/** A plain rm of every file of a tree does what rm -r does to the tree. */
function whole(command: readonly string[], items: readonly string[]): readonly string[] {
  const [name = '', ...rest] = command
  const isTree = items.some((item) => item.endsWith(`/${anyText}/${anyText}`))
  return isTree && /(?:^|\/)rm$/.test(name) ? [name, '-r', ...rest] : command
}

function readItems(stdin: string | null, byLine: boolean): string[] {
  if (stdin === null) return [unknown]
  const items = stdin.split(byLine ? /[\n\0]/ : /\s+/).filter((item) => item !== '')
  return items.length > 500 ? [...items.slice(0, 500), obscured] : items
}

/** GNU parallel: the command is text for a shell, the words come after `:::` or by a pipe. */
export const parallel: Follow = ({ words, scope, stdin, interpreter }: Call) => {
  const { operands } = readOptions(words.slice(1), {
    shortValues: 'jaINnLdDES',
    longValues: [
      'jobs',
      'arg-file',
      'delay',
      'timeout',
      'sshlogin',
      'joblog',
      'results',
      'colsep',
      'retries',
    ],
    stopsAtOperand: true,
  })
  const marker = operands.findIndex((word) => /^:::\+?$/.test(word))
  const command = marker < 0 ? operands : operands.slice(0, marker)
  const items =
    marker < 0
      ? readItems(stdin, true)
      : operands.slice(marker + 1).filter((word) => !/^:::\+?$/.test(word))
  const text = command.map(spelled).join(' ')
  let output = ''
  for (const item of items) {
    if (text === '') output += interpreter.runScript(spelled(item), scope.clone(), null)
    else if (/\{[^}]*\}/.test(text)) {
      output += interpreter.runScript(
        text.replace(/\{[./#%\d-]*\}/g, () => quote(item)),
        scope.clone(),
        null,
      )
    } else output += interpreter.runScript(`${text} ${quote(item)}`, scope.clone(), null)
  }
  return output
}
