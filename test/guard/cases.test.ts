import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { guardFor, readTable } from './helpers.ts'

interface Dangerous {
  command: string
  decision: string
  rule: string
}

const ask = guardFor()
const dangerous = readTable<Dangerous>('dangerous.jsonl')
const harmless = readTable<{ command: string }>('harmless.jsonl')
const ordinary = readTable<{ command: string; source: string }>('ordinary.jsonl')

test('the tables are as large as promised and repeat nothing', () => {
  assert.ok(dangerous.length >= 150 && harmless.length >= 150 && ordinary.length >= 200)
  for (const table of [dangerous, harmless, ordinary]) {
    assert.is(new Set(table.map(({ command }) => command)).size, table.length)
  }
})

test('every dangerous command is caught by its rule', async () => {
  const wrong: unknown[] = []
  for (const { command, decision, rule } of dangerous) {
    const verdict = await ask(command)
    if (verdict.decision !== decision || verdict.rule !== rule) wrong.push({ command, verdict })
  }
  assert.equal(wrong, [])
})

test('every harmless look-alike is allowed', async () => {
  const wrong: unknown[] = []
  for (const { command } of harmless) {
    const verdict = await ask(command)
    if (verdict.decision !== 'allow') wrong.push({ command, verdict })
  }
  assert.equal(wrong, [])
})

test('no ordinary command of a real project is stopped', async () => {
  const wrong: unknown[] = []
  for (const { command, source } of ordinary) {
    const verdict = await ask(command)
    if (verdict.decision !== 'allow') wrong.push({ command, source, verdict })
  }
  assert.equal(wrong, [])
})

test('a denial says in one message the rule, what matched and what to do instead', async () => {
  for (const { command, decision, rule } of dangerous) {
    if (decision !== 'deny') continue
    const { reason, matched } = await ask(command)
    assert.ok(reason?.startsWith(`${rule}: \``), reason ?? command)
    assert.ok(matched !== null && reason?.includes(matched), command)
    assert.match(reason ?? '', /\. [A-Z].+\.$/)
  }
})

test.run()
