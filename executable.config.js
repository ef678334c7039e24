/**
 * Builds the single executable: `npm run build:binary`, and
 *
 *     npm run build:binary -- --all      one for every system, as `dist/nacre-<system>`; only the one
 *                                        for this system can be tried here
 *     npm run build:binary -- --node     `dist/nacre-node`, on Node instead of Bun (sea.config.js)
 *
 * Bun bundles all of lib/, compiles it to bytecode and puts it, with the terminal addon of macOS, behind a
 * copy of its runtime. It does so three times: to learn what short uses read of the files that they load, so
 * that the rest can be made late; to learn in which order functions are called; and to keep. The runtimes come
 * from the registry like any package; nothing else is fetched.
 */
import { spawnSync } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { ownHome, typicalUses } from './.ci/tools/code-cache.js'
import { ensureTool } from './.ci/tools/install.js'
import { findParts, noteRead, noteReads, takeOut } from './.ci/tools/late-parts.js'
import { bundlePackage, packs } from './esbuild.config.js'

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
    await mkdir(join(folder, 'home'))
    const own = { bun, folder, runtime: bun, system: null, orders: /** @type {string[]} */ ([]) }
    const tried = { ...own, output: join(folder, 'nacre') }
    const layouts = await writeSources(folder)
    const used = await recordReads(await compile(tried), folder)
    for (const [name, layout] of layouts) {
      await writeFile(join(folder, name), takeOut(layout, new Set(used.get(name))))
    }
    await writeFile(join(folder, 'nacre.cjs'), entryText)
    const orders = recordOrders(await compile(tried), folder)
    if (!all) return [await compile({ ...own, orders, output: join(dist, 'nacre') })]
    const built = []
    for (const system of systems) {
      const runtime = await ensureTool('bun', system)
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

const entryText = `
setTimeout(() => Bun.unsafe.setJITPolicy(1), ${startMs}).unref()
require('./load.js').runMain(() => require('./main.js'))
`

/** Such an executable writes what was read of each file, one name a line, into the file that it is told. */
const notingEntryText = `
const reads = new Set()
const file = process.env.READS_OUT
globalThis.${noteRead} = (name) => reads.add(name)
process.on('exit', () => file && require('node:fs').writeFileSync(file, [...reads].join('\\n')))
${entryText}`

/**
 * The files that the package has, and one that starts them: as modules of their own they are loaded when
 * they are needed, where all of lib/ in one scope would be made at each start (10 MB of memory). The files
 * that a run of a command needs are written as they note what is read of them.
 *
 * @param {string} folder
 * @returns {Promise<Map<string, import('./.ci/tools/late-parts.js').Layout>>} the layouts of these
 */
async function writeSources(folder) {
  const files = await bundlePackage(['lib/main.ts'])
  const layouts = new Map(
    Object.keys(packs).map((name) => [name, findParts(name, files.get(name) ?? '')]),
  )
  for (const [name, layout] of layouts) files.set(name, noteReads(layout))
  files.set('load.js', await readFile(join(root, 'bin', 'load.js'), 'utf8'))
  files.set('nacre.cjs', notingEntryText)
  await Promise.all([...files].map(([name, text]) => writeFile(join(folder, name), text)))
  return layouts
}

/** @type {typeof typicalUses} */
const shortUses = [
  ...typicalUses.slice(0, 2),
  [['--version'], ''],
  [['-c', 'x="a b"; for i in 1 2; do echo "$x" | cat; done && ls / >/dev/null'], ''],
  // The guard reads it; what starts nothing here needs no git.
  [['-c', 'false && git status || true'], ''],
]

/**
 * What short uses read of the files that they load.
 *
 * @param {string} executable that notes it
 * @param {string} folder
 * @returns {Promise<Map<string, string[]>>} names by file
 */
async function recordReads(executable, folder) {
  const file = join(folder, 'reads')
  /** @type {Map<string, string[]>} */
  const used = new Map()
  for (const use of shortUses) {
    tryOut(executable, use, folder, { READS_OUT: file })
    for (const line of (await readFile(file, 'utf8')).split('\n')) {
      const [name = '', read = ''] = line.split(' ')
      used.set(name, [...(used.get(name) ?? []), read])
    }
  }
  return used
}

/**
 * @param {string} executable
 * @param {typeof typicalUses[number]} use
 * @param {string} folder has the folder `home`, in which it is used
 * @param {Record<string, string>} variables
 */
function tryOut(executable, [words, input], folder, variables) {
  const cwd = join(folder, 'home')
  const env = { ...process.env, ...ownHome(cwd), ...variables }
  const { error, status, stderr } = spawnSync(executable, words, {
    env,
    input,
    cwd,
    encoding: 'utf8',
  })
  if (error) throw error
  if (status !== 0) throw new Error(`nacre ${words.join(' ')}: status ${status}: ${stderr}`)
}

/**
 * Which functions an executable needs in its typical uses, in their order: beside one another in the
 * file they take fewer pages of memory.
 *
 * @param {string} executable
 * @param {string} folder where the files go
 * @returns {string[]} files for `--bytecode-order`, the most important first
 */
function recordOrders(executable, folder) {
  return typicalUses.map((use, index) => {
    const file = join(folder, `order-${index}`)
    tryOut(executable, use, folder, { BUN_BYTECODE_ORDER_OUT: file })
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
    '--loader=.helper:file',
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
 * The terminal addon with the program that it starts others by (lib/run/terminal/pty/addon.ts). On Linux Bun
 * does without.
 *
 * @param {System | undefined} system undefined: this one
 * @param {string} folder where they go
 * @returns {Promise<string[]>}
 */
async function copyAssets(system, folder) {
  if ((system?.os ?? process.platform) !== 'darwin') return []
  const addon = await ensureTool('pty', system)
  const assets = ['pty.node', 'spawn.helper'].map((name) => join(folder, name))
  const [addonAsset = '', helperAsset = ''] = assets
  await copyFile(addon, addonAsset)
  await copyFile(join(dirname(addon), 'spawn-helper'), helperAsset)
  return assets
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
