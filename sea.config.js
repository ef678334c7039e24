/**
 * Builds `dist/nacre-node`, the single executable on Node: `npm run build:binary -- --node`.
 *
 * Node's own "single executable application": bin/nacre.js as its script, and as assets the files of
 * dist/ with their code caches and the terminal addon, `pty.node`, put into a copy of Node by
 * @yao-pkg/pkg. The Node comes from the registry like any package; nothing else is fetched.
 */
import { spawnSync } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process, { arch, argv, exit, platform, stderr } from 'node:process'
import { ensureTool } from './.ci/tools/install.js'
import { writeCodeCaches } from './.ci/tools/code-cache.js'
import { bundleEntry } from './esbuild.config.js'

const root = import.meta.dirname
const dist = join(root, 'dist')

/**
 * Removes the symbols, a seventh of the size; must happen before the script is put in.
 *
 * @param {string} program
 */
function strip(program) {
  const { error, status, stderr: said } = spawnSync('strip', [program], { encoding: 'utf8' })
  if (error && 'code' in error && error.code === 'ENOENT') {
    stderr.write('no `strip` here (it comes with binutils): the executable keeps its symbols\n')
  } else if (error !== undefined || status !== 0) {
    throw new Error(`strip failed: ${error?.message ?? said}`)
  }
}

/**
 * The files of dist/ with caches for the embedded Node.
 *
 * @param {string} folder where the caches go
 * @param {string} node
 * @returns {Promise<Record<string, string>>} asset → path
 */
async function listFiles(folder, node) {
  const caches = join(folder, 'caches')
  await mkdir(caches)
  writeCodeCaches(caches, node)
  const names = (await readdir(dist)).filter((name) => name.endsWith('.js'))
  return Object.fromEntries(
    names.flatMap((name) => [
      [name, join(dist, name)],
      [`${name}.cache`, join(caches, `${name}.cache`)],
    ]),
  )
}

/**
 * @param {string} node program of the Node that runs this; its version must be the embedded one
 * @returns {Promise<string>} path of the executable
 */
async function buildBinary(node) {
  const require = createRequire(import.meta.url)
  const packages = createRequire(join(await ensureTool('pkg'), 'package.json'))
  const { default: sea } = packages('@yao-pkg/pkg/lib-es5/sea.js')

  const folder = await mkdtemp(join(tmpdir(), 'nacre-binary-'))
  try {
    const script = join(folder, 'nacre.cjs')
    await writeFile(script, await bundleEntry())
    const base = join(folder, 'node')
    await copyFile(node, base)
    strip(base)

    const output = join(dist, 'nacre-node')
    const fresh = `${output}-${process.pid}`
    try {
      await sea(script, {
        nodePath: base,
        signature: true,
        targets: [
          {
            nodeRange: 'node24',
            platform: platform === 'darwin' ? 'macos' : platform,
            arch,
            output: fresh,
          },
        ],
        seaConfig: {
          disableExperimentalSEAWarning: true,
          useSnapshot: false,
          useCodeCache: true,
          assets: {
            ...(await listFiles(folder, node)),
            'pty.node': require.resolve(`@lydell/node-pty-${platform}-${arch}/pty.node`),
          },
        },
      })
      // In one step: the earlier executable may be running.
      await rename(fresh, output)
    } finally {
      await rm(fresh, { force: true })
    }
    return output
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

try {
  const node = realpathSync(await ensureTool('node24'))
  if (process.execPath === node) {
    stderr.write(`${await buildBinary(node)}\n`)
  } else {
    // pkg wants Node 22, and the code cache fits only the version that has made it.
    const { error, status } = spawnSync(node, [import.meta.filename, ...argv.slice(2)], {
      stdio: 'inherit',
    })
    if (error !== undefined) throw error
    exit(status ?? 1)
  }
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  stderr.write(`dist/nacre-node was not built: ${message}\n`)
  exit(1)
}
