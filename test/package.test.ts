import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { Script } from 'node:vm'
import { build } from 'esbuild'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { writeCodeCaches } from '../.ci/tools/code-cache.js'
import { isGroupAlive } from '../lib/system/process/process-table.ts'
import { runProgram } from './helpers/run-program.ts'
import { until } from './helpers/until.ts'

const root = join(import.meta.dirname, '..')

interface Packed {
  filename: string
  files: { path: string }[]
}

interface Context {
  folder: string
  installed: string
  paths: string[]
}

type Read = (name: string) => { source: string; path: string; cachedData: Uint8Array }
type CreateLoad = (
  read: Read,
  require: (id: string) => unknown,
  onCompiled: (name: string, script: Script) => void,
) => (name: string) => unknown

const test = suite<Context>('package')

/** Asserts a good end and gives what was printed. */
async function run(
  command: string[],
  cwd: string,
  { input, env = {} }: { input?: string; env?: Record<string, string> } = {},
): Promise<string> {
  const [program = '', ...args] = command
  const ended = await runProgram(program, args, {
    cwd,
    env: { XDG_STATE_HOME: join(cwd, 'state'), ...env },
    ...(input !== undefined && { input }),
  })
  const stdout = ended.stdout.toString()
  assert.is(ended.status, 0, `${command.join(' ')}: ${stdout}${ended.stderr.toString()}`)
  return stdout
}

/** The package as `npm install <tarball>` leaves it in an empty folder. */
test.before(async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'package-'))
  context.folder = folder
  // The user's own registry and cache, which has what it depends on but may not know which versions there are.
  const { NACRE_TEST_CERTIFICATES: certificates } = process.env
  const env = {
    HOME: userInfo().homedir,
    ...(certificates !== undefined && { NODE_EXTRA_CA_CERTS: certificates }),
  }
  const quiet = ['--silent', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  const pack = ['npm', 'pack', '--json', ...quiet, '--pack-destination', folder]
  const [packed] = JSON.parse(await run(pack, root, { env })) as [Packed]
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  const tarball = join(folder, packed.filename)
  await run(['npm', 'install', ...quiet, tarball], folder, { env })
  const installed = join(folder, 'node_modules/nacre')
  Object.assign(context, { installed, paths: packed.files.map(({ path }) => path) })
})

test.after(({ folder }) => rmSync(folder, { recursive: true }))

test('holds what a user needs and nothing else', ({ paths }) => {
  const expected = [
    /^(README\.md|CHANGELOG\.md|LICENSE|package\.json)$/,
    // What README.md leads to.
    /^lib\/repl\/recording\.svg$/,
    /^lib\/(README|RECIPES|config\/CONFIGURATION|guard\/THREATS|doors\/rpc\/PROTOCOL)\.md$/,
    /^bin\/(nacre\.js|load\.js|package\.json)$/,
    /^dist\/esm\/([\w-]+\.js|(index|client)\.d\.ts|package\.json)$/,
    /^dist\/([\w-]+\.js(\.cache)?|nacre\.1|package\.json|(rpc|config)\.schema\.json|THIRD-PARTY-NOTICES)$/,
    /^dist\/types\/[\w/-]+\.d\.ts$/,
  ]
  assert.equal(
    paths.filter((path) => !expected.some((pattern) => pattern.test(path))),
    [],
  )
  for (const path of [
    'README.md',
    'LICENSE',
    'bin/nacre.js',
    'dist/main.js',
    'dist/index.js',
    'dist/nacre.1',
  ]) {
    assert.ok(paths.includes(path), path)
  }
})

test('is documented: a page for man(1), and schemas that can be imported', async ({ folder }) => {
  const code = `
    // npm takes nothing but a list for the manual.
    const [man] = require('nacre/package.json').man
    const page = require('fs').readFileSync('node_modules/nacre/' + man, 'utf8')
    const { properties } = require('nacre/config.schema.json')
    console.log(page.split('\\n')[1], properties.sandbox.enum.join(), require('nacre/rpc.schema.json').$schema)`
  const told = await run([process.execPath, '-e', code], folder)
  assert.match(told, /^\.SH NAME off,auto,workspace,read-only https:/)
})

test('carries the licence of every package that is bundled', ({ installed }) => {
  const notices = readFileSync(join(installed, 'dist/THIRD-PARTY-NOTICES'), 'utf8')
  for (const name of ['@modelcontextprotocol/sdk', '@xterm/headless', 'zod', 'unbash']) {
    assert.match(notices, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(\\w+\\)$`, 'm'))
  }
  assert.match(notices, 'Permission is hereby granted')
})

test('runs commands, on a terminal too, with its own dependencies only', async (context) => {
  const cli = [process.execPath, join(context.installed, 'bin/nacre.js')]
  assert.is(await run([...cli, '-c', 'echo hi'], context.folder), 'hi\n')
  const onTerminal = await run([...cli, '--pty', '-c', 'test -t 1 && echo tty'], context.folder)
  assert.is(onTerminal.trimEnd(), 'tty')
  assert.match(await run([...cli, 'doctor'], context.folder), /^ok +terminal /m)
})

test('starts with a code cache that fits, and without one that does not', async (context) => {
  const { folder, installed } = context
  // The package's own caches are of the Node that built it.
  const dist = join(installed, 'dist')
  for (const name of readdirSync(dist)) if (name.endsWith('.cache')) rmSync(join(dist, name))
  writeCodeCaches(dist)
  const file = join(dist, 'run.js.cache')
  const cached = readFileSync(file)
  const load = join(installed, 'bin/load.js')
  const { createLoad } = (await import(load)) as { createLoad: CreateLoad }
  const verdicts: (boolean | undefined)[] = []
  const read = (name: string) => {
    const path = join(installed, 'dist', name)
    return { source: readFileSync(path, 'utf8'), path, cachedData: readFileSync(`${path}.cache`) }
  }
  const note = (_name: string, script: Script) => verdicts.push(script.cachedDataRejected)
  createLoad(read, createRequire(load), note)('main.js')
  assert.equal(verdicts, [false])
  const words = [process.execPath, join(installed, 'bin/nacre.js'), '-c', 'echo hi']
  for (const content of [
    cached.subarray(0, 1000),
    Buffer.from('no cache'),
    Buffer.alloc(0),
    null,
  ]) {
    if (content) writeFileSync(file, content)
    else rmSync(file)
    assert.is(await run(words, folder), 'hi\n')
  }
  writeFileSync(file, cached)
})

test('waiting for what cannot come any more is an error', ({ installed }) => {
  const load = JSON.stringify(join(installed, 'bin/load.js'))
  const main = `{ main: () => new Promise(() => {}) }`
  const { status, stderr } = spawnSync(
    process.execPath,
    ['-e', `require(${load}).runMain(() => (${main}))`],
    { encoding: 'utf8' },
  )
  assert.is(status, 125)
  assert.is(stderr, 'nacre: internal error: it waited for what cannot come any more\n')
})

test('serves MCP with its own dependencies only', async ({ folder, installed }) => {
  const hello = { protocolVersion: '2025-06-18', capabilities: {} }
  const clientInfo = { name: 'test', version: '1' }
  const messages = [
    { jsonrpc: '2.0', id: 1, method: 'initialize', params: { ...hello, clientInfo } },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/list' },
  ]
  const input = messages.map((message) => `${JSON.stringify(message)}\n`).join('')
  const cli = [process.execPath, join(installed, 'bin/nacre.js')]
  assert.match(await run([...cli, 'mcp'], folder, { input }), '"name":"bash_job"')
})

/** What a program of a user does with the library; `import` or `require` stands above it. */
const use = `
const executor = createExecutor()
const run = await executor.start({ args: ['printf', '%s\\n', 'a b', '$c'] })
const lines = []
for await (const line of run.lines()) lines.push(line)
await executor.run({ session: 's', command: 'x=kept', origin: 'agent' })
const { output } = await executor.run({ session: 's', command: 'echo $x', origin: 'agent' })
const onTerminal = await executor.run({ command: 'test -t 1 && echo tty', pty: true, origin: 'agent' })
const wrong = await executor.run({ command: 'true', timeoutSeconds: 'soon', origin: 'agent' }).catch((error) => error)
await executor.close()
const client = await startClient({ command: [process.execPath, ...words, 'node_modules/nacre/bin/nacre.js', '--rpc'] })
const { stdout } = await client.request('shell.exec', { command: 'echo hi' })
await client.close()
console.log(lines.join('|'), output.trim(), onTerminal.output.trim(), wrong instanceof MisuseError, wrong.field, stdout.trim())
`
const used = 'a b|$c kept tty true timeoutSeconds hi\n'
const words = "const words = globalThis.Deno === undefined ? [] : ['run', '-A', '-q']\n"
const asModule = `
import { createExecutor, MisuseError } from 'nacre'
import { startClient } from 'nacre/client'
${words}${use}process.exit()
`
const asScript = `
const { createExecutor, MisuseError } = require('nacre')
const { startClient } = require('nacre/client')
${words}void (async () => {${use}process.exit()
})()
`

/** Every runtime that is installed here. */
function listRuntimes(): Record<string, string[]> {
  const tool = (name: string, path: string, ...options: string[]) => {
    const program = join(root, '.tools', name, 'node_modules', path)
    if (existsSync(program)) return { [name]: [program, ...options] }
    console.log(`SKIP the library under ${name}: node .ci/tools/install.js ${name}`)
    return {}
  }
  return {
    node: [process.execPath],
    ...tool('node24', `node-linux-${process.arch}/bin/node`),
    ...tool('deno', `@deno/linux-${process.arch}-glibc/deno`, 'run', '-A', '-q'),
    ...tool('bun', `@oven/bun-linux-${process.arch}/bin/bun`),
  }
}

for (const [name, runtime] of Object.entries(listRuntimes())) {
  test(`is called by a link under ${name}, as an installation makes it`, async ({
    folder,
    installed,
  }) => {
    const link = join(folder, `nacre-by-${name}`)
    symlinkSync(join(installed, 'bin/nacre.js'), link)
    assert.is(await run([...runtime, link, '-c', 'echo "$0"', 'a b'], folder), 'a b\n')
  })

  for (const [file, text] of [
    ['use.mjs', asModule],
    ['use.cjs', asScript],
  ] as const) {
    test(`is used under ${name}: ${file}`, async ({ folder }) => {
      writeFileSync(join(folder, file), text)
      assert.is(await run([...runtime, file], folder), used)
    })
  }
}

test('is imported by a script on the command line', async ({ folder }) => {
  const script = `import('nacre').then(async ({ createExecutor }) => {
    const executor = createExecutor()
    console.log((await executor.run({ command: 'echo hi' })).stdout)
    await executor.close()
  })`
  assert.is(await run([process.execPath, '-e', script], folder), 'hi\n\n')
})

for (const format of ['esm', 'cjs'] as const) {
  test(`is bundled by esbuild: ${format}`, async ({ folder }) => {
    const entry = join(folder, 'entry.mjs')
    const outfile = join(folder, `bundle.${format === 'esm' ? 'mjs' : 'cjs'}`)
    const text = format === 'esm' ? asModule : asScript
    writeFileSync(entry, text)
    await build({ entryPoints: [entry], bundle: true, platform: 'node', format, outfile })
    assert.is(await run([process.execPath, outfile], folder), used)
  })
}

test('is bundled by Bun', async ({ folder }) => {
  const bun = join(root, `.tools/bun/node_modules/@oven/bun-linux-${process.arch}/bin/bun`)
  if (!existsSync(bun)) return console.log('SKIP is bundled by Bun: node .ci/tools/install.js bun')
  writeFileSync(join(folder, 'entry.mjs'), asModule)
  const words = ['build', '--target=node', '--outfile=by-bun.mjs', 'entry.mjs']
  await run([bun, ...words], folder)
  assert.is(await run([process.execPath, 'by-bun.mjs'], folder), used)
})

for (const [how, end] of Object.entries({
  'process.exit': 'process.exit()',
  'a signal': "process.kill(process.pid, 'SIGTERM')",
  'a kill': "process.kill(process.pid, 'SIGKILL')",
})) {
  for (const afterMs of [0, 300]) {
    test(`what it has started ends with its process: ${how} after ${afterMs} ms`, async ({
      folder,
    }) => {
      const text = `
import { createExecutor } from 'nacre'
const run = await createExecutor().start({ command: 'echo up; sleep 1000 & sleep 1000', origin: 'print' })
for await (const line of run.lines()) break
console.log(run.pid)
setTimeout(() => ${end}, ${afterMs})
`
      writeFileSync(join(folder, 'leave.mjs'), text)
      // Only a moment of each run is not watched over yet.
      if (how !== 'process.exit' && afterMs === 0) return
      const { stdout } = await runProgram(process.execPath, ['leave.mjs'], { cwd: folder })
      const group = Number(String(stdout))
      assert.ok(group > 0, String(stdout))
      await until(
        () => !isGroupAlive(group),
        () => `the group ${group} lives`,
      )
    })
  }
}

const consumer = `
import { createExecutor, type Executor, type ExecutorOptions, MisuseError, type RequestInput, type Result, type Run, type RunEvent } from 'nacre'
import { RpcError, startClient } from 'nacre/client'
async function runAll(input: RequestInput): Promise<Result> {
  const options: ExecutorOptions = {}
  await using executor: Executor = createExecutor(options)
  await using run: Run = await executor.start({ command: 'sleep 1000', origin: 'agent' })
  const events: RunEvent['type'][] = []
  for await (const { type } of run.events) { events.push(type); break }
  return await executor.run({ ...input, session: 's' })
}
const { exitCode } = await runAll({ command: 'exit 4', origin: 'agent' })
const code: number | null = exitCode
const client = await startClient({ command: [process.execPath, 'node_modules/nacre/bin/nacre.js', '--rpc'] })
const { stdout } = await client.request('shell.exec', { command: 'echo hi' })
// @ts-expect-error -- there is no such method
const wrongMethod = client.request('shell.exce', { command: 'true' }).catch((error: unknown) => error)
// @ts-expect-error -- a number is no command
const wrongType = client.request('shell.exec', { command: 1 }).catch((error: unknown) => error)
const errors = await Promise.all([wrongMethod, wrongType])
console.log(code, stdout.trim(), typeof MisuseError, ...errors.map((error) => error instanceof RpcError && error.code))
await client.close()
`

const required = `
import nacre = require('nacre')
const executor: nacre.Executor = nacre.createExecutor()
void executor.run({ command: 'exit 4', origin: 'agent' }).then(async ({ exitCode }: nacre.Result) => {
  await executor.close()
  console.log(exitCode)
})
`

const strict = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  target: 'es2022',
  lib: ['es2023', 'esnext.disposable'],
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
}

for (const [name, options, files] of [
  ['nodenext', { module: 'nodenext' }, ['consumer.mts', 'required.cts']],
  ['node16', { module: 'node16', moduleResolution: 'node16' }, ['consumer.mts']],
  ['bundler', { module: 'esnext', moduleResolution: 'bundler' }, ['consumer.mts']],
] as const) {
  test(`has types that hold in a strict program, which then runs: ${name}`, async ({ folder }) => {
    writeFileSync(join(folder, 'consumer.mts'), consumer)
    writeFileSync(join(folder, 'required.cts'), required)
    const config = { compilerOptions: { ...strict, ...options }, files }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    await run([join(root, 'node_modules/.bin/tsc'), '-p', '.'], folder)
    const told = await run([process.execPath, 'consumer.mjs'], folder)
    assert.is(told, '4 hi function -32601 -32602\n')
    if (name === 'nodenext') assert.is(await run([process.execPath, 'required.cjs'], folder), '4\n')
  })
}

test('documents every field of a request and of a result', ({ installed }) => {
  for (const [file, type] of [
    ['request/request', 'requestShape'],
    ['result/result', 'resultShape'],
  ] as const) {
    const text = readFileSync(join(installed, `dist/types/protocol/${file}.d.ts`), 'utf8')
    const [block = ''] =
      text.slice(text.indexOf(`const ${type}`)).match(/'~value'[^]*?\n {4}\}/) ?? []
    const fields = [...block.matchAll(/^ {8}(\w+)\??: /gm)].map(([, name]) => name)
    const silent = fields.filter((name) => !new RegExp(`\\*/\\n {8}${name}\\??: `).test(block))
    assert.equal(silent, [], file)
  }
})

test.run()
