import { spawn, spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, readSync, realpathSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { ParsedScript, SyntaxNode } from 'unbash'
import { loadGrammar } from '../../lib/guard/shell/grammar.ts'
import { guardFor } from './helpers.ts'
import { hear } from '../helpers/until.ts'

/** `NACRE_ALL_SCRIPTS=1` reads every script of the machine in place of a sample. */
const most = process.env['NACRE_ALL_SCRIPTS'] === '1' ? Infinity : 100
const roots = most === Infinity ? ['/usr', '/etc', '/opt'] : ['/usr/bin', '/usr/sbin', '/etc']

function findScripts(): string[] {
  const { stdout } = spawnSync(
    'find',
    [
      ...roots,
      '-xdev',
      '-type',
      'f',
      '-size',
      '-64k',
      '(',
      '-perm',
      '-u+x',
      '-o',
      '-name',
      '*.sh',
      ')',
    ],
    { encoding: 'utf8', maxBuffer: 1e8 },
  )
  const found = new Set<string>()
  for (const path of stdout.split('\n').sort()) {
    if (path !== '' && isShellScript(path)) found.add(realpathSync(path))
  }
  const all = [...found]
  const step = Math.max(1, all.length / most)
  return all.filter((_, index) => Math.floor(index % step) === 0).slice(0, most)
}

function isShellScript(path: string): boolean {
  const start = Buffer.alloc(64)
  try {
    const file = openSync(path, 'r')
    const length = readSync(file, start, 0, start.length, 0)
    closeSync(file)
    return /^#! ?\/(usr\/)?bin\/(env )?(ba|da)?sh\b/.test(start.toString('latin1', 0, length))
  } catch (error) {
    // Not readable for this user.
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return false
    throw error
  }
}

async function bashAccepts(path: string): Promise<boolean> {
  const child = spawn('bash', ['-n', path], { stdio: 'ignore' })
  const [code] = (await hear(child, 'exit')) as [number | null]
  return code === 0
}

const scripts = findScripts()

test('scripts of this machine parse exactly when bash accepts them', async () => {
  const grammar = await loadGrammar()
  const disagreements: string[] = []
  for (const path of scripts) {
    const errors: string[] = []
    const collect = (node: SyntaxNode): void => {
      const faults: ParsedScript['errors'] = 'errors' in node ? node.errors : undefined
      for (const { message } of faults ?? []) errors.push(message)
      grammar.forEachChild(node, collect)
    }
    const script = grammar.parse(readFileSync(path, 'utf8'))
    assert.ok(script)
    collect(script)
    if ((await bashAccepts(path)) === (errors.length === 0)) continue
    disagreements.push(`${path}: ${errors[0] ?? 'accepted here, refused by bash'}`)
  }
  console.log(`${scripts.length} scripts, ${disagreements.length} disagreements`)
  for (const line of disagreements) console.log(`  ${line}`)
  // Known causes: the parser takes a final `echo (` and `f(`; text in another language after `exec`.
  assert.ok(disagreements.length <= scripts.length / 100, disagreements.join('\n'))
})

test('the guard reads each of them to its end', async () => {
  const ask = guardFor()
  for (const path of scripts) {
    const { decision } = await ask(readFileSync(path, 'utf8').slice(0, 65_536))
    assert.ok(['allow', 'ask', 'deny'].includes(decision), path)
  }
})

test.run()
