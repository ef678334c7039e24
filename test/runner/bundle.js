import { mkdir, mkdtemp, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { root } from './program.js'

/** Modules there find the packages of the project. */
const parent = join(root, 'node_modules', '.cache', 'nacre')

/**
 * Makes one module of each test file and what it imports of the project: it is compiled once in a
 * run instead of at each start, for which a loader would take a third of a second.
 *
 * @param {readonly string[]} files test files, as paths in the project
 * @returns {Promise<string>} a new folder with the modules; `nameModule` says where in it each is
 */
export async function bundleTests(files) {
  await mkdir(parent, { recursive: true })
  const folder = await mkdtemp(join(parent, 'tests-'))
  await build({
    absWorkingDir: root,
    entryPoints: [...files],
    outdir: folder,
    outbase: root,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    packages: 'external',
    platform: 'node',
    target: 'node20.19',
    format: 'esm',
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'warning',
    plugins: [
      { name: 'own-place', setup: keepPlaces },
      { name: 'seed', setup: seedProperties },
    ],
  })
  return folder
}

/** @param {string} file path of a test file in the project */
export function nameModule(file) {
  return file.replace(/\.ts$/, '.mjs')
}

/**
 * A file finds what lies beside it by its own path, not by that of the module it ends in.
 *
 * @param {import('esbuild').PluginBuild} esbuild
 */
function keepPlaces(esbuild) {
  esbuild.onLoad({ filter: /\.[jt]s$/ }, async ({ path }) => {
    const text = await readFile(path, 'utf8')
    const contents = text
      .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
      .replaceAll('import.meta.filename', JSON.stringify(path))
    return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' }
  })
}

/**
 * Every property test has the seed that `seeded-properties.ts` sets.
 *
 * @param {import('esbuild').PluginBuild} esbuild
 */
function seedProperties(esbuild) {
  const seeded = join(root, 'test', 'helpers', 'seeded-properties.ts')
  esbuild.onResolve({ filter: /^fast-check$/ }, ({ importer }) =>
    importer === seeded ? { path: 'fast-check', external: true } : { path: seeded },
  )
}
