/**
 * V8's code cache of the files of dist/: what the engine has compiled of them in a few typical uses.
 * Made by the runtime that is to use it; any other refuses it and compiles for itself.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, execPath, exit } from 'node:process'
import { createLoad } from '../../bin/load.js'

const root = join(import.meta.dirname, '..', '..')
const dist = join(root, 'dist')

/**
 * Words and input; the first use that loads a file decides what its cache holds.
 *
 * @type {readonly [words: string[], input: string][]}
 */
export const typicalUses = [
  [['-c', 'true'], ''],
  [['-p', '!echo a', '--output-format', 'json'], ''],
  [
    ['--rpc'],
    [{ command: 'true' }, { command: 'true', session: 'a' }]
      .map(
        (params, id) => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'shell.exec', params })}\n`,
      )
      .join(''),
  ],
  [['mcp'], ''],
]

/**
 * The variables with which nobody's start files and configuration are read.
 *
 * @param {string} home an empty folder
 */
export function ownHome(home) {
  return { HOME: home, SHELL: '/bin/sh', XDG_STATE_HOME: home, XDG_CONFIG_HOME: home }
}

/**
 * @param {string} folder where the caches go, as `<file>.cache`
 * @param {string} node program of the runtime
 * @throws {Error} where a use fails
 */
export function writeCodeCaches(folder, node = execPath) {
  const home = mkdtempSync(join(tmpdir(), 'nacre-build-'))
  try {
    const env = { ...process.env, ...ownHome(home) }
    for (const [words, input] of [...typicalUses, /** @type {const} */ ([[], ''])]) {
      const { error, status, stderr } = spawnSync(node, [import.meta.filename, folder, ...words], {
        env,
        input,
        cwd: home,
        timeout: 60_000,
        encoding: 'utf8',
      })
      if (error) throw error
      if (status !== 0) throw new Error(`nacre ${words.join(' ')}: status ${status}: ${stderr}`)
    }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/**
 * One use, in this process: writes the caches of the files that it was the first to load.
 *
 * @param {string} folder
 * @param {string[]} words
 */
async function use(folder, words) {
  // What nacre would start anew.
  const entry = join(root, 'bin', 'nacre.js')
  argv.splice(1, argv.length - 1, entry, ...words)
  const require = createRequire(entry)
  /** @type {Map<string, import('node:vm').Script>} */
  const scripts = new Map()
  const read = (/** @type {string} */ name) => {
    const path = join(dist, name)
    return { source: readFileSync(path, 'utf8'), path }
  }
  const load = createLoad(read, require, (name, script) => scripts.set(name, script))
  process.on('exit', () => {
    const made = new Set(readdirSync(folder))
    for (const [name, script] of scripts) {
      const file = `${name}.cache`
      if (!made.has(file)) writeFileSync(join(folder, file), script.createCachedData())
    }
  })
  // The cache is written at the end, so this process must not become another one.
  Object.assign(process, { execve: undefined })
  if (words.length > 0) exit(await load('main.js').main(words))
  // What no use has come to, as it is when it has been loaded.
  for (const name of readdirSync(dist)) if (name.endsWith('.js')) load(name)
  exit(0)
}

if (argv[1] === import.meta.filename) {
  const [folder = '', ...words] = argv.slice(2)
  await use(folder, words)
}
