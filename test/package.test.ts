import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Script } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { writeCodeCaches } from '../.ci/tools/code-cache.js'
import { runProgram } from './helpers/run-program.ts'

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
async function run(command: string[], cwd: string, input?: string): Promise<string> {
  const [program = '', ...args] = command
  const env = { XDG_STATE_HOME: join(cwd, 'state') }
  const ended = await runProgram(program, args, { cwd, env, ...(input && { input }) })
  const stdout = ended.stdout.toString()
  assert.is(ended.status, 0, `${command.join(' ')}: ${stdout}${ended.stderr.toString()}`)
  return stdout
}

/** As `npm install <tarball>` leaves it: the package with its dependencies and no others. */
test.before(async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'package-'))
  const quiet = ['--silent', '--json', '--ignore-scripts', '--cache', join(folder, 'cache')]
  const told = await run(['npm', 'pack', ...quiet, '--pack-destination', folder], root)
  const [packed] = JSON.parse(told) as [Packed]
  const modules = join(folder, 'node_modules')
  const installed = join(modules, 'nacre')
  mkdirSync(installed, { recursive: true })
  const tarball = join(folder, packed.filename)
  await run(['tar', '-xzf', tarball, '--strip-components=1', '-C', installed], folder)
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  Object.assign(context, { folder, installed, paths: packed.files.map(({ path }) => path) })
})

test.after(({ folder }) => rmSync(folder, { recursive: true }))

test('holds what a user needs and nothing else', ({ paths }) => {
  const expected = [
    /^(README\.md|CHANGELOG\.md|LICENSE|package\.json)$/,
    // What README.md leads to.
    /^lib\/(README|RECIPES|config\/CONFIGURATION|guard\/THREATS|doors\/rpc\/PROTOCOL)\.md$/,
    /^bin\/(nacre\.js|load\.js|package\.json)$/,
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
    const { man } = require('nacre/package.json')
    const page = require('fs').readFileSync('node_modules/nacre/' + man, 'utf8')
    const { properties } = require('nacre/config.schema.json')
    console.log(page.split('\\n')[1], properties.sandbox.enum.join(), require('nacre/rpc.schema.json').$schema)`
  const told = await run([process.execPath, '-e', code], folder)
  assert.match(told, /^\.SH NAME off,auto,workspace,read-only https:/)
})

test('carries the licence of every package that is bundled', ({ installed }) => {
  const notices = readFileSync(join(installed, 'dist/THIRD-PARTY-NOTICES'), 'utf8')
  for (const name of ['@modelcontextprotocol/sdk', '@xterm/headless', 'zod', 'cac', 'unbash']) {
    assert.match(notices, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(\\w+\\)$`, 'm'))
  }
  assert.match(notices, 'Permission is hereby granted')
})

test('runs commands, on a terminal too, with its own dependencies only', async (context) => {
  const cli = [process.execPath, join(context.installed, 'bin/nacre.js')]
  assert.is(await run([...cli, '-c', 'echo hi'], context.folder), 'hi\n')
  const onTerminal = await run([...cli, '--pty', '-c', 'test -t 1 && echo tty'], context.folder)
  assert.is(onTerminal.trimEnd(), 'tty')
  assert.match(await run([...cli, 'doctor'], context.folder), 'addon')
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
  assert.equal(verdicts, [false, false])
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
  assert.match(await run([...cli, 'mcp'], folder, input), '"name":"bash_job"')
})

const consumer = `
import { createExecutor, type Executor } from 'nacre'
import { RpcError, startClient } from 'nacre/client'
const executor: Executor = createExecutor({ stateDir: null })
const { exitCode } = await executor.run({ command: 'exit 4', origin: 'agent' })
const code: number | null = exitCode
await executor.close()
const client = await startClient({ command: [process.execPath, 'node_modules/nacre/bin/nacre.js', '--rpc'] })
const { stdout } = await client.request('shell.exec', { command: 'echo hi' })
// @ts-expect-error -- there is no such method
const wrongMethod = client.request('shell.exce', { command: 'true' }).catch((error: unknown) => error)
// @ts-expect-error -- a number is no command
const wrongType = client.request('shell.exec', { command: 1 }).catch((error: unknown) => error)
const errors = await Promise.all([wrongMethod, wrongType])
console.log(code, stdout.trim(), ...errors.map((error) => error instanceof RpcError && error.code))
await client.close()
`

test('has types that hold in a strict program, which then runs', async ({ folder }) => {
  writeFileSync(join(folder, 'consumer.mts'), consumer)
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    module: 'nodenext',
    target: 'es2023',
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  }
  const config = { compilerOptions, files: ['consumer.mts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  await run([join(root, 'node_modules/.bin/tsc'), '-p', '.'], folder)
  assert.is(await run([process.execPath, 'consumer.mjs'], folder), '4 hi -32601 -32602\n')
})

test('can be required', async ({ folder }) => {
  const code =
    "console.log(typeof require('nacre').createExecutor, typeof require('nacre/client').startClient)"
  assert.is(await run([process.execPath, '-e', code], folder), 'function function\n')
})

test.run()
