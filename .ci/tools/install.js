/**
 * The programs that building, testing and measuring need beside the project's own packages. Each
 * is pinned with a lock file in a folder here and installed on first use into `.tools/<name>`.
 *
 *     node .ci/tools/install.js <name>     prints the program, or the folder of a library
 */
import { spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { arch, argv, exit, platform, stderr, stdout } from 'node:process'

const root = join(import.meta.dirname, '..', '..')
const manifests = ['package.json', 'package-lock.json']

/** What to run of each tool below its node_modules; null where the folder itself is wanted. */
const programs = {
  node24: `node-${platform}-${arch}/bin/node`,
  deno: `@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}/deno`,
  pkg: null,
  pi: null,
  peers: null,
}

/**
 * Installs a tool unless it is there as its lock file says.
 *
 * @param {'node24' | 'deno' | 'pkg' | 'pi' | 'peers'} name
 * @returns {Promise<string>} absolute path of the program; of a library the folder that holds its
 *   node_modules
 * @throws {Error} when npm fails, or the registry has no such program for this platform
 */
export async function ensureTool(name) {
  if (!Object.hasOwn(programs, name)) {
    throw new Error(`no tool "${name}": use one of ${Object.keys(programs).join(', ')}`)
  }
  const source = join(import.meta.dirname, name)
  const folder = join(root, '.tools', name)
  if (!(await isSame(source, folder))) await install(name, source, folder)
  const program = programs[name]
  if (program === null) return folder
  const path = join(folder, 'node_modules', program)
  if (existsSync(path)) return path
  throw new Error(`${name}: there is no package with this program for ${platform}-${arch}`)
}

/** Whether the folder was installed from these very manifests. */
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

/** Installs beside the final place and moves there, so that a half installation is never seen. */
async function install(name, source, folder) {
  await mkdir(join(folder, '..'), { recursive: true })
  const fresh = await mkdtemp(`${folder}-`)
  try {
    for (const manifest of manifests) {
      await copyFile(join(source, manifest), join(fresh, manifest))
    }
    await runNpm(name, fresh)
    await rm(folder, { recursive: true, force: true })
    await rename(fresh, folder).catch(async (error) => {
      // Another process has installed the same meanwhile.
      if (error.code !== 'ENOTEMPTY' || !(await isSame(source, folder))) throw error
    })
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

async function runNpm(name, cwd) {
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']
  const npm = spawn('npm', ['ci', ...options], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
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
    stderr.write(`${error.message}\n`)
    exit(1)
  }
}
