/**
 * The programs that building, testing and measuring need beside the project's own packages. Each
 * is pinned with a lock file in a folder here and installed on first use into `.tools/<name>`.
 *
 *     node .ci/tools/install.js <name>     prints the program, or the folder of a library
 */
import { spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { arch, argv, exit, platform, stderr, stdout } from 'node:process'

const root = join(import.meta.dirname, '..', '..')
const manifests = ['package.json', 'package-lock.json']

/**
 * @typedef {object} System whose program is wanted, in npm's words
 * @property {string} os
 * @property {string} cpu
 * @property {string | null} libc `glibc` or `musl` on Linux
 */

/** @type {System} */
const here = { os: platform, cpu: arch, libc: platform === 'linux' ? 'glibc' : null }

/**
 * The tools: what to run of each below its node_modules; null where the folder itself is wanted.
 *
 * @type {Readonly<Record<string, ((system: System) => string) | null>>}
 */
const programs = {
  node24: ({ os, cpu }) => `node-${os}-${cpu}/bin/node`,
  deno: ({ os, cpu, libc }) => `@deno/${os}-${cpu}${libc === null ? '' : `-${libc}`}/deno`,
  bun: ({ os, cpu, libc }) =>
    `@oven/bun-${os}-${cpu === 'arm64' ? 'aarch64' : cpu}${libc === 'musl' ? '-musl' : ''}/bin/bun`,
  pty: ({ os, cpu }) => `@lydell/node-pty-${os}-${cpu}/pty.node`,
  pkg: null,
  pi: null,
  peers: null,
}

/**
 * Installs a tool unless it is there as its lock file says.
 *
 * @param {string} name a folder beside this file
 * @param {System} [system] another than this one, whose program is not to be run here
 * @returns {Promise<string>} absolute path of the program; of a library the folder that holds its
 *   node_modules
 * @throws {Error} when npm fails, or the registry has no such program for the system
 */
export async function ensureTool(name, system = here) {
  const locate = programs[name]
  if (locate === undefined) {
    throw new Error(`no tool "${name}": use one of ${Object.keys(programs).join(', ')}`)
  }
  const source = join(import.meta.dirname, name)
  const words = [system.os, system.cpu, system.libc].filter((word) => word !== null).join('-')
  const folder = join(root, '.tools', system === here ? name : `${name}-${words}`)
  if (!(await isSame(source, folder))) await install(name, { source, folder, system })
  if (locate === null) return folder
  const path = join(folder, 'node_modules', locate(system))
  if (existsSync(path)) return path
  throw new Error(`${name}: there is no package with this program for ${words}`)
}

/**
 * Whether the folder was installed from these very manifests.
 *
 * @param {string} source
 * @param {string} folder
 */
async function isSame(source, folder) {
  if (!existsSync(join(folder, 'node_modules'))) return false
  for (const name of manifests) {
    const [wanted, found] = await Promise.all(
      [source, folder].map((it) => readFile(join(it, name), 'utf8').catch(() => null)),
    )
    if (wanted === null || wanted !== found) return false
  }
  return true
}

/**
 * Installs beside the final place and moves there, so that a half installation is never seen.
 *
 * @param {string} name
 * @param {{ source: string, folder: string, system: System }} where
 */
async function install(name, { source, folder, system }) {
  await mkdir(join(folder, '..'), { recursive: true })
  const fresh = await mkdtemp(`${folder}-`)
  try {
    // Some tests run as another user.
    await chmod(fresh, 0o755)
    for (const manifest of manifests) {
      await copyFile(join(source, manifest), join(fresh, manifest))
    }
    await runNpm(name, fresh, system)
    await rm(folder, { recursive: true, force: true })
    await rename(fresh, folder).catch(async (error) => {
      // Another process has installed the same meanwhile.
      if (error.code !== 'ENOTEMPTY' || !(await isSame(source, folder))) throw error
    })
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

/**
 * @param {string} name of the tool
 * @param {string} cwd
 * @param {System} system
 */
async function runNpm(name, cwd, system) {
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']
  if (system !== here) {
    options.push(`--os=${system.os}`, `--cpu=${system.cpu}`)
    if (system.libc !== null) options.push(`--libc=${system.libc}`)
  }
  const npm = spawn('npm', ['ci', ...options], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  /** @type {Buffer[]} */
  const said = []
  for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (chunk) => said.push(chunk))
  const code = await new Promise((resolve, reject) => {
    npm.on('error', reject)
    npm.on('close', resolve)
  })
  if (code !== 0) throw new Error(`${name}: npm ci failed\n${Buffer.concat(said).toString()}`)
}

if (argv[1] !== undefined && realpathSync(argv[1]) === import.meta.filename) {
  try {
    stdout.write(`${await ensureTool(argv[2] ?? '')}\n`)
  } catch (error) {
    stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    exit(1)
  }
}
