import { readOptions } from '../shell/options.ts'
import { empty, obscured, quote, Text, unknown } from '../shell/text.ts'
import type { Follow } from './call.ts'

const style = {
  shortValues: 'adEILnPs',
  longValues: 'arg-file delimiter max-lines max-args max-procs max-chars process-slot-var',
  stopsAtOperand: true,
}

/** Runs its command on the words that it reads. */
export const xargs: Follow = ({ args, scope, stdin, shell }) => {
  const options = readOptions(args, style)
  const command = options.operands.length > 0 ? options.operands : [new Text('echo')]
  const byLine = options.has('0', 'null', 'd', 'delimiter', 'I', 'i', 'replace')
  const file = options.valueOf('a', 'arg-file')
  const items = readItems(file ? shell.readFile(file, scope) : stdin, byLine)
  const given = options.valueOf('I', 'replace')
  const placeholder = given?.chars ?? (options.has('i', 'replace') ? '{}' : null)
  if (placeholder === null) {
    return shell.runWords([...whole(command, items), ...items], scope.clone(), null)
  }
  return Text.join(
    items.map((item) => {
      const filled = command.map((word) => word.replaceAll(placeholder, item))
      return shell.runWords(whole(filled, [item]), scope.clone(), null)
    }),
  )
}

/** A plain rm of every file of a tree does what rm -r does to the tree. */
function whole(command: readonly Text[], items: readonly Text[]): readonly Text[] {
  const [name = empty, ...rest] = command
  const isTree = items.some((item) => item.endsWith('/*/*') && item.slice(-1).isOnly('*'))
  return isTree && name.test(/(?:^|\/)rm$/) ? [name, new Text('-r'), ...rest] : command
}

function readItems(stdin: Text | null, byLine: boolean): Text[] {
  if (stdin === null) return [unknown]
  const items = stdin.split(byLine ? /[\n\0]/ : /\s+/).filter(({ length }) => length > 0)
  return items.length > 500 ? [...items.slice(0, 500), obscured] : items
}

const parallelStyle = {
  shortValues: 'jaINnLdDES',
  longValues: 'jobs arg-file delay timeout sshlogin joblog results colsep retries',
  stopsAtOperand: true,
}

/** GNU parallel: the command is text for a shell, the words come after `:::` or by a pipe. */
export const parallel: Follow = ({ args, scope, stdin, shell }) => {
  const { operands } = readOptions(args, parallelStyle)
  const isMarker = (word: Text): boolean => word.test(/^:::\+?$/)
  const marker = operands.findIndex(isMarker)
  const command = marker < 0 ? operands : operands.slice(0, marker)
  const items =
    marker < 0
      ? readItems(stdin, true)
      : operands.slice(marker + 1).filter((word) => !isMarker(word))
  const text = Text.join(command, ' ')
  const scriptFor = (item: Text): Text => {
    if (text.length === 0) return item
    if (!text.test(/\{[^}]*\}/)) return Text.join([text, ' ', quote(item)])
    return text.replace(/\{[./#%\d-]*\}/g, () => quote(item))
  }
  return Text.join(items.map((item) => shell.runScript(scriptFor(item), scope.clone(), null)))
}
