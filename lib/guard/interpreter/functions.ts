import type { Function } from 'unbash'
import type { Scope, ShellFunction } from '../shell/scope.ts'
import { type Text, unknown } from '../shell/text.ts'
import type { Reader } from './context.ts'

/** The functions that the command defines, and which of them it calls. */
export class Functions {
  private readonly known = new Map<Function, { source: string; called: boolean }>()
  /** The names of the functions that are being read, the innermost last. */
  private readonly callers: string[] = []

  define(name: string, node: Function, scope: Scope, source: string): void {
    scope.functions.set(name, { node, source })
    if (!this.known.has(node)) this.known.set(node, { source, called: false })
  }

  call(
    name: string,
    { node, source }: ShellFunction,
    args: readonly Text[],
    scope: Scope,
    stdin: Text | null,
    reader: Reader,
  ): Text {
    const known = this.known.get(node)
    if (known) known.called = true
    if (this.callers.filter((caller) => caller === name).length > 1) return unknown
    this.callers.push(name)
    const before = scope.parameters
    scope.parameters = args
    const frame = { source, standsAlone: false }
    const output = reader.context.within(frame, () => reader.walk(node.body, scope, stdin))
    scope.parameters = before
    this.callers.pop()
    return output
  }

  /** Reads the functions that nobody calls, those that they define too. */
  readUncalled(scope: Scope, reader: Reader): void {
    for (const [{ body }, { source, called }] of this.known) {
      if (called) continue
      const frame = { source, likelihood: 'defined', standsAlone: false } as const
      reader.context.within(frame, () => reader.walk(body, scope.clone(), null))
    }
  }
}
