import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

const lib = join(import.meta.dirname, '../lib')

/** Who may import whom; a room may always import itself. The table of lib/README.md. */
const layers: Record<string, string[]> = {
  main: ['cli', 'config', 'commands', 'repl', 'doors', 'agent', 'executor', 'system', 'protocol'],
  index: ['executor', 'system', 'protocol'],
  client: ['wire', 'protocol'],
  commands: ['doors', 'agent', 'executor', 'render', 'wire', 'system', 'protocol'],
  repl: ['doors', 'agent', 'executor', 'render', 'wire', 'system', 'protocol'],
  doors: ['agent', 'executor', 'render', 'wire', 'system', 'protocol'],
  agent: ['executor', 'render', 'system', 'protocol'],
  executor: ['guard', 'run', 'output', 'wire', 'system', 'protocol'],
  run: ['output', 'system', 'protocol'],
  wire: ['protocol'],
  guard: ['system', 'protocol'],
  output: ['system', 'protocol'],
  render: ['protocol'],
  cli: ['protocol'],
  config: ['system', 'protocol'],
  system: ['protocol'],
  protocol: [],
}

const files = readdirSync(lib, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
)

/** Files that a file imports, types and first-use imports too, relative to lib. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(lib, file), 'utf8')
  const paths = text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)
  return [...paths].map(([, path]) => relative(lib, join(lib, dirname(file), path ?? '')))
}

function roomOf(file: string): string {
  return file.includes('/') ? (file.split('/')[0] ?? '') : file.replace('.ts', '')
}

test('every room imports only what the table allows', () => {
  const wrong = files.flatMap((file) =>
    importsOf(file)
      .filter((target) => !target.startsWith('..'))
      .filter((target) => roomOf(target) !== roomOf(file))
      .filter((target) => !layers[roomOf(file)]?.includes(roomOf(target)))
      .map((target) => `${file} → ${target}`),
  )
  assert.equal(wrong, [])
})

test('no file imports itself by a way round', () => {
  const done = new Set<string>()
  const cycles: string[] = []
  function visit(file: string, way: string[]): void {
    const start = way.indexOf(file)
    if (start >= 0) cycles.push([...way.slice(start), file].join(' → '))
    if (start >= 0 || done.has(file)) return
    for (const target of importsOf(file)) visit(target, [...way, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
  assert.equal(cycles, [])
})

test('the map tells the same table', () => {
  const map = readFileSync(join(lib, 'README.md'), 'utf8')
  for (const [room, targets] of Object.entries(layers)) {
    const row = map.split('\n').find((line) => line.startsWith(`| \`${room}\``)) ?? ''
    const told = [...row.matchAll(/`([a-z]+)`/g)].map(([, name]) => name).slice(1)
    assert.equal(new Set(told), new Set(targets), room)
  }
})

test('every room and every file at the top of lib is on the map', () => {
  const map = readFileSync(join(lib, 'README.md'), 'utf8')
  for (const room of new Set(files.map(roomOf))) assert.match(map, `\`${room}\``)
})

test('names say what a file is for', () => {
  const vague = files.filter((file) => /\b(utils?|helpers?|managers?|services?)\b/.test(file))
  assert.equal(vague, [])
})

test('only the entry and its edges touch the process', () => {
  // `process.env` as a default of a library call, and the streams of a front door, are the edges.
  // A client starts a process of its own.
  const allowed = new Set([
    'main.ts',
    'main/doors.ts',
    'main/settings.ts',
    'main/subcommands.ts',
    // Where it cannot become a shell, it passes signals on to one.
    'system/process/become.ts',
    'executor/executor.ts',
    'client.ts',
  ])
  const wrong = files
    .filter((file) => !allowed.has(file))
    .filter((file) =>
      /process\.(env\b|exit\(|argv\b|on\()/.test(readFileSync(join(lib, file), 'utf8')),
    )
  assert.equal(wrong, [])
})

test.run()
