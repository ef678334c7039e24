import type { Assignment } from 'unbash'
import type { Reader } from './reader.ts'
import type { Scope } from './scope.ts'
import { expandText, expandWord } from './word.ts'

/** Variables whose value another program runs as a command. */
const commandVariables = new Set(
  'PROMPT_COMMAND GIT_SSH_COMMAND GIT_EXTERNAL_DIFF PAGER GIT_PAGER MANPAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR'.split(
    ' ',
  ),
)

export function assign(assignment: Assignment, scope: Scope, reader: Reader): void {
  const { name, value, append, index } = assignment
  if (index) reader.visit(index, scope)
  const old = scope.variables.get(name)
  if (value.type === 'ArrayValue') {
    const elements = value.elements.flatMap((word) => {
      const subscript = /^\[[^\]]*\]=/.exec(word.text)?.[0]
      const fields = expandWord(word, scope, reader).flat()
      if (!subscript) return fields
      return fields.map((field) => field.slice(field.indexOf(']=') + 2))
    })
    const before = append ? (old?.elements ?? old?.values ?? []) : []
    scope.assignElements(name, [...before, ...elements])
    return
  }
  const values = expandText(value, scope, reader)
  if (index) {
    scope.assignElements(name, [...(old?.elements ?? []), ...values])
    return
  }
  if (append && old) {
    scope.assign(
      name,
      old.values.flatMap((before) => values.map((text) => before + text)),
    )
  } else scope.assign(name, values)
  if (commandVariables.has(name)) {
    for (const text of values) reader.runScript(text, scope.clone(), null)
  }
}
