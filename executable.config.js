/**
 * Builds the single executable: `npm run build:binary`, and
 *
 *     npm run build:binary -- --all      one for every system, as `dist/nacre-<system>`; only the one
 *                                        for this system can be tried here
 *     npm run build:binary -- --node     `dist/nacre-node`, on Node instead of Bun (sea.config.js)
 *
 * Bun bundles all of lib/, compiles it to bytecode and puts it, with the terminal addon, behind a copy
 * of its runtime. The runtimes come from the registry like any package; nothing else is fetched.
 */
import { spawnSync } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureTool } from './.ci/tools/install.js'

const root = import.meta.dirname
const dist = join(root, 'dist')

/** @typedef {import('./.ci/tools/install.js').System} System */

/** @type {readonly System[]} */
const systems = [
  { os: 'linux', cpu: 'x64', libc: 'glibc' },
  { os: 'linux', cpu: 'x64', libc: 'musl' },
  { os: 'linux', cpu: 'arm64', libc: 'glibc' },
  { os: 'linux', cpu: 'arm64', libc: 'musl' },
  { os: 'darwin', cpu: 'x64', libc: null },
  { os: 'darwin', cpu: 'arm64', libc: null },
]

/**
 * Builds for this system alone as `dist/nacre`, or for every one.
 *
 * @param {{ all: boolean }} options
 * @returns {Promise<string[]>} paths of the executables
 * @throws {Error} with what Bun has said
 */
async function buildByBun({ all }) {
  await mkdir(dist, { recursive: true })
  const bun = await ensureTool('bun')
  if (!all) return [await compile(bun, { runtime: bun, system: null, name: 'nacre' })]
  const built = []
  for (const system of systems) {
    const runtime = await ensureTool('bun', system)
    const { os, cpu, libc } = system
    const words = `${os}-${cpu}${libc === 'musl' ? '-musl' : ''}`
    built.push(
      await compile(bun, { runtime, system: { ...system, words }, name: `nacre-${words}` }),
    )
  }
  return built
}

/**
 * @param {string} bun that builds
 * @param {object} what
 * @param {string} what.runtime that is put into the executable
 * @param {(System & { words: string }) | null} what.system null: this one
 * @param {string} what.name in dist/
 */
async function compile(bun, { runtime, system, name }) {
  const output = join(dist, name)
  const addon = findAddon(system)
  const folder = await mkdtemp(join(tmpdir(), 'nacre-binary-'))
  const fresh = `${output}-${process.pid}`
  try {
    const entry = join(folder, 'nacre.cjs')
    const [load, main] = ['bin/load.js', 'lib/main.ts'].map((path) =>
      JSON.stringify(join(root, path)),
    )
    await writeFile(entry, `require(${load}).runMain(() => require(${main}))\n`)
    /** @type {string[]} */
    const assets = []
    if (addon !== null) {
      assets.push(join(folder, 'pty.node'))
      await copyFile(addon, join(folder, 'pty.node'))
    }
    const words = [
      ...['build', '--compile', '--bytecode', '--format=cjs', '--minify-whitespace'],
      ...['--minify-syntax', '--asset-naming=[name].[ext]', '--loader=.node:file'],
      // Else the folder in which nacre is started could set its variables and load code into it.
      ...['--no-compile-autoload-dotenv', '--no-compile-autoload-bunfig'],
      `--compile-executable-path=${runtime}`,
      ...(system === null ? [] : [`--target=bun-${system.words}`]),
      entry,
      ...assets,
      `--outfile=${fresh}`,
    ]
    const { error, status, stdout, stderr } = spawnSync(bun, words, { cwd: root, encoding: 'utf8' })
    if (error) throw error
    if (status !== 0) throw new Error(`bun ${words.join(' ')}:\n${stdout}${stderr}`)
    // In one step: the earlier executable may be running.
    await rename(fresh, output)
    return output
  } finally {
    await rm(fresh, { force: true })
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * @param {System | null} system null: this one
 * @returns {string | null} the addon of the terminal; null where there is none for the system
 */
function findAddon(system) {
  const require = createRequire(import.meta.url)
  const { os, cpu } = system ?? { os: process.platform, cpu: process.arch }
  try {
    return require.resolve(`@lydell/node-pty-${os}-${cpu}/pty.node`)
  } catch {
    return null
  }
}

const { values: options } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    node: { type: 'boolean', default: false },
  },
})
try {
  if (options.node) {
    spawnSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' })
    await import('./sea.config.js')
  } else for (const path of await buildByBun(options)) process.stderr.write(`${path}\n`)
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`dist/nacre was not built: ${message}\n`)
  process.exit(1)
}
