/**
 * `loop.mjs <way> <count> <root of nacre>`: goes that many times one way, on whatever runtime it is started by. A
 * `bare call` answers lines until their end.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, stdin, stdout } from 'node:process'

/** @typedef {{ turn(): Promise<unknown>, end(): unknown }} Way */

/** The least that a turn of a session can be: a line to a bash that reads lines, and one back. */
function openBareShell() {
  const loop = 'while IFS= read -r line; do eval "$line"; echo "$?"; done'
  const child = spawn('bash', ['--norc', '-c', loop], { stdio: ['pipe', 'pipe', 'ignore'] })
  let answered = () => {}
  child.stdout.on('data', () => answered())
  const turn = () =>
    new Promise((/** @type {(value: void) => void} */ resolve) => {
      answered = resolve
      child.stdin.write('true\n')
    })
  return { turn, end: () => child.stdin.end() }
}

function spawnBareShell() {
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', 'true'], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.resume()
    child.stderr.resume()
    child.on('error', reject).on('close', resolve)
  })
}

/**
 * @param {object} fields
 * @returns {Promise<Way>}
 */
async function openExecutor(fields) {
  const { createExecutor } = await import(join(argv[4] ?? '', 'dist/index.js'))
  const stateDir = mkdtempSync(join(tmpdir(), 'nacre-bench-'))
  const executor = createExecutor({ stateDir })
  const request = { command: 'true', origin: 'agent', sandbox: 'off', ...fields }
  return {
    async turn() {
      const { status, exitCode, error } = await executor.run(request)
      if (exitCode !== 0) throw new Error(`The run ended as ${status}: ${JSON.stringify(error)}`)
    },
    async end() {
      await executor.close()
      rmSync(stateDir, { recursive: true, force: true })
    },
  }
}

/** The least that a call can be: a JSON line is read, and one is written. */
async function answerLines() {
  let text = ''
  for await (const chunk of stdin.setEncoding('utf8')) {
    const lines = (text + chunk).split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) {
      const { id } = JSON.parse(line)
      stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n`)
    }
  }
}

/** @type {Record<string, () => Way | Promise<Way>>} */
const ways = {
  'bare turn': openBareShell,
  'bare spawn': () => ({ turn: spawnBareShell, end: () => undefined }),
  session: () => openExecutor({ session: 'bench' }),
  sandbox: () => openExecutor({ session: 'bench', sandbox: 'workspace' }),
  fresh: () => openExecutor({}),
}

const open = ways[argv[2] ?? '']
if (open) {
  const way = await open()
  for (let count = Number(argv[3]); count > 0; count--) await way.turn()
  await way.end()
} else {
  await answerLines()
}
