/**
 * Builds `dist/` from `lib/`: `npm run build`, and once at every install (`prepare`).
 *
 *     dist/main.js      the CLI, required by bin/nacre.js
 *     dist/index.js     the library, `import { createExecutor } from 'nacre'`
 *     dist/client.js    the RPC client, `import { startClient } from 'nacre/client'`
 *     dist/esm/         both once more as ES modules, for `import` and for bundlers
 *     dist/run.js       what a command in print mode needs for which nacre stays
 *     dist/*.js         one file for each other `import()` of the source, and what these share
 *     dist/*.js.cache   what V8 has compiled of each, for this version of Node
 *     dist/rpc.schema.json   the messages of --rpc as JSON Schemas
 *     dist/config.schema.json  a file of the configuration as a JSON Schema
 *     dist/nacre.1      the manual page
 *     dist/types/       the declarations of the library
 *     dist/THIRD-PARTY-NOTICES   the licences of the packages whose code is in there
 *
 * The CLI is CommonJS: Node starts it 5 ms sooner than the same program as modules.
 */
import { spawn } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { argv, exit, stderr } from 'node:process'
import { fileURLToPath } from 'node:url'
import { compileFunction } from 'node:vm'
import { build } from 'esbuild'
import { writeCodeCaches } from './.ci/tools/code-cache.js'
import { documentFields } from './.ci/tools/declarations.js'
import { collectNotices } from './.ci/tools/notices.js'

const root = import.meta.dirname
const dist = join(root, 'dist')

/** The oldest Node that package.json admits. */
const target = 'node20.19'

/** @satisfies {import('esbuild').BuildOptions} */
const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target,
  // Native addons are found beside their package at run time, never bundled.
  external: ['*.node', '@lydell/node-pty-*'],
  // They are in THIRD-PARTY-NOTICES.
  legalComments: 'none',
  minifyWhitespace: true,
  minifySyntax: true,
  // Of an error that nobody caught Node shows the line: a whole file in one would bury the message.
  lineLimit: 160,
  logLevel: 'warning',
  // In CommonJS the source asks `__filename` for it.
  logOverride: { 'empty-import-meta': 'silent' },
  write: false,
}

/**
 * What a library makes as soon as it is loaded, though few starts need it: the tables of all emoji and of
 * all borders between characters are a third of the time to the first prompt. Characters that take one column
 * and never join with their neighbours (ASCII, Latin, the marks that nacre's own words are made of) do without.
 */
const madeLate = {
  name: 'made-late',
  /** @param {import('esbuild').PluginBuild} esbuild */
  setup(esbuild) {
    esbuild.onLoad({ filter: /pi-tui\/dist\/utils\.js$/ }, async ({ path }) => {
      let contents = await readFile(path, 'utf8')
      /** @type {[string, string][]} */
      const changes = [
        [
          'const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });',
          'let madeSegmenter; const simple = /^[ -~\\u00A1-\\u00A8\\u00AA-\\u00AC\\u00AF-\\u02FF\\u2010-\\u2027\\u2190-\\u2193\\u23CE\\u2713\\u2717]*$/; const segmenter = { segment: (text) => simple.test(text) ? Array.from(text, (segment, index) => ({ segment, index, input: text })) : (madeSegmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" })).segment(text) };',
        ],
        [
          'function graphemeWidth(segment) {',
          'function graphemeWidth(segment) { if (simple.test(segment)) return segment.length;',
        ],
        [
          'const rgiEmojiRegex = /^\\p{RGI_Emoji}$/v;',
          'let madeRgiEmoji; const rgiEmojiRegex = { test: (text) => (madeRgiEmoji ??= new RegExp("^\\\\p{RGI_Emoji}$", "v")).test(text) };',
        ],
      ]
      for (const [now, late] of changes) {
        if (!contents.includes(now)) throw new Error(`${path} does not hold any more: ${now}`)
        contents = contents.replace(now, () => late)
      }
      return { contents }
    })
  },
}

/** Of package.json the version is all that nacre reads: the rest would be made at each start. */
const onlyVersion = {
  name: 'only-version',
  /** @param {import('esbuild').PluginBuild} esbuild */
  setup(esbuild) {
    esbuild.onLoad({ filter: /[\\/]package\.json$/ }, async ({ path }) => {
      if (path !== join(root, 'package.json')) return null
      const { version } = JSON.parse(await readFile(path, 'utf8'))
      return { contents: JSON.stringify({ version }), loader: /** @type {const} */ ('json') }
    })
  },
}

/**
 * What is read together at a start stands in one file, since each file costs half a millisecond: what every
 * start needs, up to the shell that nacre becomes, and what a command adds for which nacre stays.
 */
const packs = {
  'main.js': ['lib/main.ts'],
  'run.js': ['lib/main/doors.ts'],
}

/**
 * The package's own build. esbuild splits modules only, so that each `import()` gets a file of its
 * own; each file is then turned into CommonJS, where its `import()` is a `require` on first use.
 *
 * @param {string[]} entries source files, relative to the project
 * @returns {Promise<Map<string, string>>} file name in dist → text
 */
export async function bundlePackage(entries = ['lib/main.ts', 'lib/index.ts', 'lib/client.ts']) {
  const { outputFiles, metafile } = await build({
    ...common,
    entryPoints: entries,
    outdir: dist,
    format: 'esm',
    metafile: true,
    splitting: true,
    chunkNames: '[name]-[hash]',
    plugins: [madeLate, onlyVersion],
  })
  const chunks = new Map(outputFiles.map(({ path, text }) => [basename(path), text]))
  const homes = findHomes(metafile)
  const files = new Map()
  for (const name of chunks.keys()) {
    const file = homes.get(name) ?? name
    if (!files.has(file)) files.set(file, await joinChunks(file, chunks, homes))
  }
  return files.set('THIRD-PARTY-NOTICES', await collectNotices(metafile))
}

/**
 * The library as ES modules.
 *
 * @returns {Promise<Map<string, string>>} file name in dist → text
 */
async function bundleModules() {
  const { outputFiles } = await build({
    ...common,
    entryPoints: ['lib/index.ts', 'lib/client.ts'],
    outdir: dist,
    format: 'esm',
    splitting: true,
    chunkNames: '[name]-[hash]',
  })
  const files = outputFiles.map(({ path, text }) => /** @type {const} */ ([basename(path), text]))
  const types = ['index', 'client'].map(
    (name) => /** @type {const} */ ([`${name}.d.ts`, `export * from '../types/${name}.js'\n`]),
  )
  const kind = /** @type {const} */ (['package.json', '{ "type": "module" }\n'])
  return new Map([...files, ...types, kind].map(([name, text]) => [`esm/${name}`, text]))
}

/**
 * Which pack each chunk goes to; the others are files of their own.
 *
 * @param {import('esbuild').Metafile} metafile
 * @returns {Map<string, string>} chunk → pack
 */
function findHomes(metafile) {
  const homes = new Map()
  for (const [pack, roots] of Object.entries(packs)) {
    for (const chunk of listStatic(metafile, roots)) if (!homes.has(chunk)) homes.set(chunk, pack)
  }
  return homes
}

/**
 * One CommonJS file of the chunks that live there, joined in one scope. A pack exports its chunks by
 * their names, a file of its own what it is.
 *
 * @param {string} file
 * @param {Map<string, string>} chunks
 * @param {Map<string, string>} homes
 * @returns {Promise<string>}
 */
async function joinChunks(file, chunks, homes) {
  const own = [...chunks.keys()].filter((name) => homes.get(name) === file)
  const exported = own.map((name) => `export * as ${JSON.stringify(name)} from "./${name}"`)
  const entry = chunks.get(file) ?? ''
  const { outputFiles } = await build({
    ...common,
    stdin: {
      contents: [...exported, entry].join('\n'),
      sourcefile: file,
    },
    format: 'cjs',
    supported: { 'dynamic-import': false },
    plugins: [
      {
        name: 'chunks',
        setup(esbuild) {
          esbuild.onResolve({ filter: /^\.\/[^/]+\.js$/ }, ({ path }) => {
            const name = path.slice(2)
            if (own.includes(name)) return { path: name, namespace: 'own' }
            const home = homes.get(name)
            return { external: true, path: home === undefined ? path : `./${home}#${name}` }
          })
          esbuild.onLoad({ filter: /./, namespace: 'own' }, ({ path }) => ({
            contents: chunks.get(path) ?? '',
          }))
        },
      },
    ],
  })
  return loadBuiltinsLate(bindDirectly(onlyText(outputFiles), !foreign.has(file)))
}

/** What others than the files of dist/ load. */
const foreign = new Set(['index.js', 'client.js'])

/**
 * Lets the files of dist/ have what they export of one another without a copy of each, which were a twelfth of
 * what a start does: all come of ES modules, so that none needs the form that esbuild makes of a CommonJS module.
 *
 * @param {string} text CommonJS as esbuild writes it: `__toESM(require("./a.js"))`, for a chunk in a pack
 *   `__toESM(require("./pack.js#a.js"))`, `var a={};__export(a,{b:()=>b})` and `module.exports=__toCommonJS(a)`
 * @param {boolean} isOwn only the files of dist/ load it
 */
function bindDirectly(text, isOwn) {
  const exported =
    /\bvar (\w+)=\{\};__export\(\s*\1,\{((?:\s*(?:"[^"]+"|[\w$]+):\(\)=>\s*[\w$]+,?)+)\s*\}\)/g
  const bound = isOwn
    ? text.replace(/(\bmodule\s*\.exports=)\s*__toCommonJS\((\w+)\)/, '$1$2')
    : text
  return bound
    .replace(/__toESM\(\s*(require\(\s*"\.\/[^"]+"\))\)/g, '$1')
    .replace(/\brequire\(\s*"(\.\/[^"#]+)#([^"]+)"\)/g, 'require("$1")["$2"]')
    .replace(exported, (_, name, entries) => {
      const getters = entries.replace(/("[^"]+"|[\w$]+):\(\)=>(\s*[\w$]+)/g, 'get $1(){return $2}')
      return `var ${name}={${getters}}`
    })
}

/**
 * Lets a file load Node's own modules with their first use: `node:net` alone takes Bun 6 ms of a start, and
 * most starts use nothing of it.
 *
 * @param {string} text CommonJS as esbuild writes it: `var import_node_fs=require("node:fs")`, and each use
 *   as a property of that
 */
function loadBuiltinsLate(text) {
  /** @type {Map<string, string>} */
  const modules = new Map()
  const imported = /\b(import_\w+)=require\("(node:[\w/]+)"\)/g
  for (const [, name = '', module = ''] of text.matchAll(imported)) modules.set(name, module)
  const late = (/** @type {string} */ module) => `builtin_${module.replace(/\W/g, '_')}`
  const declared = [...new Set(modules.values())].map((module) => {
    const name = late(module)
    return `var ${name}=()=>{var made=require("${module}");return(${name}=()=>made)()};`
  })
  const used = text.replace(imported, '$1').replace(/\b(import_\w+)\./g, (use, name) => {
    const module = modules.get(name)
    // In brackets for `new import_node_vm.Script(…)`.
    return module === undefined ? use : `(${late(module)}()).`
  })
  return declared.join('') + used
}

/**
 * @param {import('esbuild').OutputFile[]} files
 * @returns {string} what a build of one file gave
 */
function onlyText([file]) {
  if (file === undefined) throw new Error('the build gave no file')
  return file.text
}

/**
 * The outputs that source files need as soon as they are loaded, but for the entries of the package.
 *
 * @param {import('esbuild').Metafile} metafile
 * @param {string[]} roots source files, relative to the project
 * @returns {Set<string>} file names
 */
function listStatic({ outputs }, roots) {
  const entryOf = (/** @type {string} */ source) =>
    Object.keys(outputs).find((path) => outputs[path]?.entryPoint === source)
  /** @type {Set<string>} */
  const reached = new Set()
  const visit = (/** @type {string | undefined} */ path) => {
    if (path === undefined || reached.has(path)) return
    reached.add(path)
    for (const { path: next, kind } of outputs[path]?.imports ?? []) {
      if (kind === 'import-statement') visit(next)
    }
  }
  for (const source of roots) visit(entryOf(source))
  const isEntry = (/** @type {string} */ path) => /^(?:main|index|client)\.js$/.test(basename(path))
  return new Set(
    [...reached].filter((path) => outputs[path] && !isEntry(path)).map((path) => basename(path)),
  )
}

/**
 * bin/nacre.js and what it needs beside dist/, as one CommonJS text: for the single executable.
 *
 * @returns {Promise<string>}
 */
export async function bundleEntry() {
  const { outputFiles } = await build({
    ...common,
    entryPoints: ['bin/nacre.js'],
    format: 'cjs',
  })
  return onlyText(outputFiles)
}

/**
 * Writes `dist/types`, the declarations that lib/index.ts and lib/client.ts reach.
 *
 * @returns {Promise<boolean>} false when the compiler found errors, which it has printed
 */
async function writeTypes() {
  const config = join(dist, 'tsconfig.json')
  await writeFile(
    config,
    JSON.stringify({
      extends: '../tsconfig.json',
      compilerOptions: {
        noEmit: false,
        emitDeclarationOnly: true,
        rootDir: '../lib',
        outDir: 'types',
      },
      include: [],
      files: ['../lib/index.ts', '../lib/client.ts'],
    }),
  )
  await rm(join(dist, 'types'), { recursive: true, force: true })
  const compiler = fileURLToPath(import.meta.resolve('typescript/package.json'))
  const program = join(compiler, '..', JSON.parse(await readFile(compiler, 'utf8')).bin.tsc)
  const code = await new Promise((resolve, reject) => {
    spawn(process.execPath, [program, '-p', config], { stdio: ['ignore', 'inherit', 'inherit'] })
      .on('error', reject)
      .on('exit', resolve)
  })
  await rm(config)
  if (code === 0) {
    await removeUnreached(join(dist, 'types'))
    await documentFields(join(dist, 'types'), join(root, 'lib'))
  }
  return code === 0
}

/**
 * The compiler declares every file of the program; this leaves those that a user of the library can
 * come to, so that they need no types but Node's.
 *
 * @param {string} folder
 */
async function removeUnreached(folder) {
  const reached = new Set(['index.d.ts', 'client.d.ts'])
  for (const file of reached) {
    const text = await readFile(join(folder, file), 'utf8')
    for (const [, target = ''] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)\.ts['"]/g)) {
      reached.add(`${join(dirname(file), target)}.d.ts`)
    }
  }
  const files = await readdir(folder, { recursive: true })
  const unreached = files.filter((file) => file.endsWith('.d.ts') && !reached.has(file))
  await Promise.all(unreached.map((file) => rm(join(folder, file))))
}

/**
 * What a function of the source gives: the shipped tables come from where the program has them.
 *
 * @param {string} source file, relative to the project
 * @param {string} name of a function that it exports, and that takes nothing
 * @returns {Promise<unknown>}
 */
async function evaluate(source, name) {
  const { outputFiles } = await build({
    ...common,
    entryPoints: [source],
    format: 'cjs',
    supported: { 'dynamic-import': false },
  })
  /** @type {{ exports: any }} */
  const module = { exports: {} }
  compileFunction(onlyText(outputFiles), ['module', 'exports', 'require'])(
    module,
    module.exports,
    createRequire(import.meta.url),
  )
  return module.exports[name]()
}

/**
 * @param {unknown} error
 * @returns {string}
 */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error)
}

/** Writes the package's files and removes those of an earlier build. */
async function writePackage() {
  const earlier = (await readdir(dist)).filter((name) => /\.(?:js|cache)$/.test(name))
  const files = await bundlePackage()
  files.set('package.json', '{ "type": "commonjs" }\n')
  await rm(join(dist, 'esm'), { recursive: true, force: true })
  await mkdir(join(dist, 'esm'))
  for (const [name, text] of await bundleModules()) files.set(name, text)
  const protocol = await evaluate('.ci/tools/protocol-schema.ts', 'describeProtocol')
  const configuration = await evaluate('lib/config/keys.ts', 'configurationSchema')
  files.set('rpc.schema.json', `${JSON.stringify(protocol)}\n`)
  files.set('config.schema.json', `${JSON.stringify(configuration, null, 2)}\n`)
  files.set('nacre.1', String(await evaluate('.ci/tools/manual.ts', 'makeManual')))
  const stale = earlier.filter((name) => !files.has(name))
  await Promise.all(stale.map((name) => rm(join(dist, name))))
  await Promise.all([...files].map(([name, text]) => writeFile(join(dist, name), text)))
  try {
    writeCodeCaches(dist)
  } catch (error) {
    stderr.write(`nacre starts slower, without a code cache: ${messageOf(error)}\n`)
  }
}

if (argv[1] !== undefined && realpathSync(argv[1]) === import.meta.filename) {
  await mkdir(dist, { recursive: true })
  // Both to the end, so that the messages of one are not cut off by the failure of the other.
  const [written, typed] = await Promise.allSettled([writePackage(), writeTypes()])
  for (const settled of [written, typed]) {
    if (settled.status === 'rejected') stderr.write(`${messageOf(settled.reason)}\n`)
  }
  const isTyped = typed.status === 'fulfilled' && typed.value
  if (!isTyped) stderr.write('lib/ has type errors: dist/types is incomplete\n')
  if (written.status === 'rejected' || !isTyped) exit(1)
}
