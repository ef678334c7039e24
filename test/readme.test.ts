import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LLMock } from '@copilotkit/aimock'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from './helpers/cli.ts'
import { runProgram } from './helpers/run-program.ts'

const root = join(import.meta.dirname, '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const recipes = readFileSync(join(root, 'lib/RECIPES.md'), 'utf8')

/** `$ command`, then what it prints, in blocks of the kind `console`. */
function readExamples(): { command: string; output: string }[] {
  return [...`${readme}\n${recipes}`.matchAll(/```console\n(.*?)```/gs)].flatMap(([, block = '']) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((example) => {
        const end = example.indexOf('\n')
        return { command: example.slice(0, end), output: example.slice(end + 1) }
      }),
  )
}

/** A folder in which `nacre` is the program under test, whatever it is started by. */
function installProgram(folder: string): void {
  const words = cliCommand().map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
  writeFileSync(join(folder, 'nacre'), `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`, { mode: 0o755 })
}

/** A model that answers what the examples ask. */
async function withAnswers(use: (env: Record<string, string>) => Promise<void>): Promise<void> {
  const mock = new LLMock({ port: 0, logLevel: 'silent' })
  mock.onMessage('write a commit message', {
    content: '{"subject": "Tell the range of the starts"}',
  })
  await mock.start()
  try {
    await use({
      NACRE_MODEL: 'openai/gpt-5-mini',
      OPENAI_API_KEY: 'sk-0123456789',
      OPENAI_BASE_URL: `${mock.url}/v1`,
    })
  } finally {
    await mock.stop()
  }
}

const examples = readExamples()

for (const { command, output } of examples) {
  test(`README: ${command}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'readme-'))
    try {
      installProgram(folder)
      const PATH = `${folder}:${process.env['PATH']}`
      await withAnswers(async (env) => {
        const options = { cwd: root, env: { PATH, ...env } }
        const finished = await runProgram('bash', ['-c', command], options)
        assert.is(finished.stdout.toString(), output, finished.stderr.toString())
      })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
}

test('the README shows examples at all', () => assert.ok(examples.length > 8))

test('the README gives the two commands', () => {
  assert.match(readme, "npm ci && bin/nacre.js -c 'git log --oneline | head -3'")
  assert.match(readme, 'npm ci && npm test')
})

for (const [name, text] of Object.entries({ README: readme, recipes })) {
  test(`the library example runs: ${name}`, async () => {
    const [, code = ''] = /```ts\n(.*?)```/s.exec(text) ?? []
    const folder = mkdtempSync(join(tmpdir(), 'readme-'))
    try {
      mkdirSync(join(folder, 'node_modules'))
      symlinkSync(root, join(folder, 'node_modules/nacre'))
      writeFileSync(join(folder, 'example.mjs'), code.replace('npm test', 'echo from the library'))
      const finished = await runProgram(process.execPath, [join(folder, 'example.mjs')], {})
      assert.is(finished.stderr.toString(), '')
      assert.match(finished.stdout.toString(), /from the library\n/)
      assert.match(finished.stdout.toString(), /exited 0/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
}

test.run()
