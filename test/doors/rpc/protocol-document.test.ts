import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { describeProtocol } from '../../../.ci/tools/protocol-schema.ts'
import { methods } from '../../../lib/doors/rpc/methods.ts'
import { check } from '../../helpers/json-schema.ts'
import { type Message, withRpc } from '../../helpers/rpc.ts'

const text = readFileSync(join(import.meta.dirname, '../../../lib/doors/rpc/PROTOCOL.md'), 'utf8')
const examples = [...text.matchAll(/^## (.*)$|^```jsonl\n([\s\S]*?)^```$/gm)]
let title = ''

for (const [, heading, example] of examples) {
  title = heading ?? title
  if (example === undefined) continue
  const lines = example.trimEnd().split('\n')
  test(`the example of ${title}: ${lines[0]?.slice(0, 90)}`, () =>
    withRpc(async (rpc) => {
      const known = new Map<string, string>()
      for (const line of lines) {
        const said = line.slice(2)
        if (line.startsWith('> ')) {
          rpc.sendRaw(`${said.replaceAll(/[a-z]+_…/g, (name) => known.get(name) ?? name)}\n`)
        } else {
          const expected = JSON.parse(said) as Message
          const message = await rpc.next((message) => isLike(message, expected))
          remember(message, known)
          const sent = lines.find((line) =>
            line.startsWith(`> {"jsonrpc":"2.0","id":${JSON.stringify(message['id'])},`),
          )
          assert.equal(faultsOf(message, sent), [])
        }
      }
    }))
}

/** Numbers that differ from run to run. */
const measured = new Set(['pid', 'owner_pid', 'duration_ms', 'idle_ms'])

/** Whether a message has the same shape: `…` stands for anything. */
function isLike(actual: unknown, expected: unknown, name = ''): boolean {
  if (typeof expected === 'string' && expected.includes('…')) {
    if (expected === '…') return actual !== undefined
    const parts = expected.split('…')
    return (
      typeof actual === 'string' &&
      actual.startsWith(parts[0] ?? '') &&
      actual.endsWith(parts[1] ?? '')
    )
  }
  // Not every system tells it; the schemas say what it holds.
  if (name === 'usage') return actual === null || typeof actual === 'object'
  if (measured.has(name)) return typeof actual === 'number'
  if (expected === null || typeof expected !== 'object') return actual === expected
  if (actual === null || typeof actual !== 'object') return false
  const names = Object.keys(expected)
  const values = expected as Message
  return (
    names.length === Object.keys(actual).length &&
    names.every((key) => isLike((actual as Message)[key], values[key], key))
  )
}

/** Ids that later lines write as `run_…`. */
function remember(value: unknown, known: Map<string, string>): void {
  for (const [id] of JSON.stringify(value).matchAll(/\b(?:run|art)_[a-z2-7]{20}\b/g)) {
    known.set(`${id.slice(0, 4)}…`, id)
  }
}

/** What is wrong with a message of the server by the schemas that are shipped. */
function faultsOf(message: Message, request: string | undefined): string[] {
  const { methods, notifications, client_methods: asked } = describeProtocol()
  const { method, params, result } = message
  if (typeof method === 'string') {
    const schemas = { ...notifications, 'approval.request': asked['approval.request']?.params }
    return check(params, schemas[method as keyof typeof schemas])
  }
  if (result === undefined || request === undefined) return []
  const { method: name } = JSON.parse(request.slice(2)) as { method: string }
  return check(result, methods[name]?.result)
}

test('every method has an example', () => {
  const shown = examples.map(([, , example]) => example ?? '').join('\n')
  const missing = [...methods.keys()].filter((name) => !shown.includes(`"method":"${name}"`))
  assert.equal(missing, [])
})

test.run()
