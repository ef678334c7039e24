/**
 * Builds the single executable: `npm run build:binary`, and
 *
 *     npm run build:binary -- --all      one for every system, as `dist/nacre-<system>`; only the one
 *                                        for this system can be tried here
 *     npm run build:binary -- --node     `dist/nacre-node`, on Node instead of Bun (sea.config.js)
 *
 * Bun bundles all of lib/, compiles it to bytecode and puts it, with the terminal addon of macOS, behind a
 * copy of its runtime. The runtimes come from the registry like any package; nothing else is fetched.
 */
import { spawnSync } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ownHome, typicalUses } from './.ci/tools/code-cache.js'
import { ensureTool } from './.ci/tools/install.js'
import { bundlePackage } from './esbuild.config.js'

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
  const folder = await mkdtemp(join(tmpdir(), 'nacre-binary-'))
  try {
    const bun = await ensureTool('bun')
    await writeSources(folder)
    const own = { bun, folder, runtime: bun, system: null, orders: /** @type {string[]} */ ([]) }
    const orders = await recordOrders(
      await compile({ ...own, output: join(folder, 'nacre') }),
      folder,
    )
    if (!all) {
      const runtime = await renameVariables(bun, folder)
      return [await compile({ ...own, runtime, orders, output: join(dist, 'nacre') })]
    }
    const built = []
    for (const system of systems) {
      const runtime = await renameVariables(await ensureTool('bun', system), folder)
      const output = join(dist, `nacre-${wordsOf(system)}`)
      built.push(await compile({ bun, folder, runtime, system, orders, output }))
    }
    return built
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** @param {System} system in Bun's words */
function wordsOf({ os, cpu, libc }) {
  return `${os}-${cpu}${libc === 'musl' ? '-musl' : ''}`
}

/**
 * A start of nacre is code that runs once: compiled to machine code it costs more than it saves, a third of
 * the processor time of `-c true` and 3 MB. So Bun's thresholds for that are so many times as high at first.
 */
const startingJitPolicy = 100
const startMs = 100

/**
 * By which whoever starts a program of Bun changes Bun itself, as C texts in the runtime. nacre stands in the place
 * of a shell: they are for its commands. The runtime that is put in asks for names that nobody uses.
 */
const variablesOfRuntime = [
  ...['BUN_BE_BUN', 'BUN_OPTIONS', 'BUN_INSPECT', 'BUN_INSPECT_CONNECT_TO', 'BUN_INSPECT_PRELOAD'],
  ...['NODE_CHANNEL_FD', 'NODE_V8_COVERAGE'],
]

/**
 * @param {string} runtime
 * @param {string} folder where the copy goes
 * @returns {Promise<string>} path of a copy that does not look at those variables
 */
async function renameVariables(runtime, folder) {
  const program = await readFile(runtime)
  for (const name of variablesOfRuntime) {
    const text = Buffer.from(`\0${name}\0`)
    const found = program.indexOf(text)
    if (found < 0) process.stderr.write(`the runtime still looks at ${name}\n`)
    for (let at = found; at >= 0; at = program.indexOf(text, at)) program.write('_', at + 1)
  }
  const copy = join(folder, 'runtime')
  await writeFile(copy, program, { mode: 0o755 })
  return copy
}

const entryText = `
setTimeout(() => Bun.unsafe.setJITPolicy(1), ${startMs}).unref()
require('./load.js').runMain(() => require('./main.js'))
`

/**
 * The files that the package has, and one that starts them: as modules of their own they are loaded when
 * they are needed, where all of lib/ in one scope would be made at each start (10 MB of memory).
 *
 * @param {string} folder
 */
async function writeSources(folder) {
  const files = await bundlePackage(['lib/main.ts'])
  files.set('load.js', await readFile(join(root, 'bin', 'load.js'), 'utf8'))
  files.set('nacre.cjs', entryText)
  await Promise.all([...files].map(([name, text]) => writeFile(join(folder, name), text)))
}

/**
 * Which functions an executable needs in its typical uses, in their order: beside one another in the
 * file they take fewer pages of memory.
 *
 * @param {string} executable
 * @param {string} folder where the files go
 * @returns {Promise<string[]>} files for `--bytecode-order`, the most important first
 */
async function recordOrders(executable, folder) {
  const home = join(folder, 'home')
  await mkdir(home)
  // The order is written at the end, so a process that becomes a shell must not find one.
  const noShell = join(home, 'no-shell')
  await writeFile(noShell, '#!/nonexistent\n', { mode: 0o755 })
  return typicalUses.map(([given, input], index) => {
    const becomes = given[0] === '-c'
    const words = becomes ? ['--shell', noShell, ...given] : given
    const file = join(folder, `order-${index}`)
    const env = { ...process.env, ...ownHome(home), BUN_BYTECODE_ORDER_OUT: file }
    const { error, status, stderr } = spawnSync(executable, words, {
      env,
      input,
      cwd: home,
      encoding: 'utf8',
    })
    if (error) throw error
    if (!becomes && status !== 0)
      throw new Error(`nacre ${words.join(' ')}: status ${status}: ${stderr}`)
    return file
  })
}

/**
 * @param {object} what
 * @param {string} what.bun that builds
 * @param {string} what.folder with the sources
 * @param {string} what.runtime that is put into the executable
 * @param {System | null} what.system null: this one
 * @param {readonly string[]} what.orders
 * @param {string} what.output
 */
async function compile({ bun, folder, runtime, system, orders, output }) {
  const assets = await copyAssets(system ?? undefined, folder)
  const fresh = `${output}-${process.pid}`
  const words = [
    ...['build', '--compile', '--bytecode', '--format=cjs', '--minify-whitespace'],
    ...['--minify-syntax', '--asset-naming=[name].[ext]', '--loader=.node:file'],
    `--compile-jit-policy=${startingJitPolicy}`,
    // Else the folder in which nacre is started could set its variables and load code into it.
    ...['--no-compile-autoload-dotenv', '--no-compile-autoload-bunfig'],
    ...(orders.length === 0 ? [] : [`--bytecode-order=${orders.join(',')}`]),
    `--compile-executable-path=${runtime}`,
    ...(system === null ? [] : [`--target=bun-${wordsOf(system)}`]),
    join(folder, 'nacre.cjs'),
    ...assets,
    `--outfile=${fresh}`,
  ]
  try {
    const { error, status, stdout, stderr } = spawnSync(bun, words, { cwd: root, encoding: 'utf8' })
    if (error) throw error
    if (status !== 0) throw new Error(`bun ${words.join(' ')}:\n${stdout}${stderr}`)
    // In one step: the earlier executable may be running.
    await rename(fresh, output)
    return output
  } finally {
    await rm(fresh, { force: true })
  }
}

/**
 * The terminal addon (lib/run/terminal/terminal-calls.ts). On Linux Bun does without.
 *
 * @param {System | undefined} system undefined: this one
 * @param {string} folder where they go
 * @returns {Promise<string[]>}
 */
async function copyAssets(system, folder) {
  if ((system?.os ?? process.platform) !== 'darwin') return []
  const asset = join(folder, 'pty.node')
  await copyFile(await ensureTool('pty', system), asset)
  return [asset]
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
