import { spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Lines } from '../../../lib/protocol/result/reading.ts'
import { MisuseError } from '../../../lib/protocol/errors.ts'
import {
  type ArtifactStore,
  createArtifactStore,
  type StoreOptions,
} from '../../../lib/output/artifact/store.ts'
import { withFolder } from '../temporary.ts'
import { hear } from '../../helpers/until.ts'

const numbered = (count: number) =>
  Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join('')

async function put(store: ArtifactStore, text: string | Uint8Array): Promise<string> {
  const writer = store.create({ runId: 'run_x', command: 'seq 9', stream: 'output' })
  await writer.write(Buffer.from(text as string))
  const { artifact, notice } = await writer.finish()
  assert.is(notice, null)
  return artifact!.id
}

function withStore(
  use: (store: ArtifactStore, dir: string) => Promise<void>,
  options: Partial<StoreOptions> = {},
) {
  return withFolder(async (dir) => use(createArtifactStore({ dir, ...options }), dir))
}

/** A store on a file system of its own; `mountOptions` as tmpfs takes them. */
function withMount(mountOptions: string, use: (store: ArtifactStore) => Promise<void>) {
  return withFolder(async (dir) => {
    const mounted = join(dir, 'mounted')
    mkdirSync(mounted)
    const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', mountOptions, 'tmpfs', mounted])
    if (mount.status !== 0) {
      console.log(`SKIP a file system with ${mountOptions}: it cannot be mounted here`)
      return
    }
    try {
      await use(createArtifactStore({ dir: join(mounted, 'store') }))
    } finally {
      assert.is(spawnSync('umount', [mounted]).status, 0)
    }
  })
}

test('lines are read in turns until the end, clean', () =>
  withStore(async (store) => {
    const id = await put(store, `\u001b[31m${numbered(5000)}\u001b[0mlast`)
    let text = ''
    let calls = 0
    for (let offset: number | null = 0; offset !== null; calls++) {
      const lines: Lines = await store.read(id, { offset })
      assert.is(lines.from, offset + 1)
      text += lines.text
      offset = lines.nextOffset
      assert.is(lines.totalLines, offset === null ? 5001 : null, `after line ${lines.to}`)
    }
    assert.is(text, `${numbered(5000)}last`)
    assert.is(calls, 3)
    const some = await store.read(`artifact://${id}`, { offset: 4998, limit: 2 })
    assert.equal(some, {
      text: 'line 4999\nline 5000\n',
      from: 4999,
      to: 5000,
      nextOffset: 5000,
      line: 5001,
      column: 1,
      totalLines: null,
    })
    const none = await store.read(id, { offset: 9000 })
    assert.equal(none, {
      text: '',
      from: 0,
      to: 0,
      nextOffset: null,
      line: null,
      column: null,
      totalLines: 5001,
    })
  }))

test('a long line is read in parts, each of which leads to the next one', () =>
  withStore(async (store) => {
    const whole = `a\n${'č'.repeat(200_000)}\nnext\n`
    const id = await put(store, whole)
    let text = ''
    let place: { line?: number; column?: number } | null = {}
    const places: unknown[] = []
    while (place !== null) {
      const read: Lines = await store.read(id, place)
      assert.ok(Buffer.byteLength(read.text) <= 51_200)
      text += read.text
      place = read.line === null ? null : { line: read.line, column: read.column! }
      places.push(read.line, read.column)
    }
    assert.is(text, whole)
    assert.equal(places.slice(0, 6), [2, 1, 2, 25_601, 2, 51_201])
    const { text: end, from } = await store.read(id, { line: 2, column: 199_999, limit: 1 })
    assert.equal([end, from], ['čč\n', 2])
    assert.is((await store.read(id, { tail: 2, maxBytes: 9 })).text, 'next\n')
  }))

test('who goes on by next_offset gets further, also in a text of long lines', () =>
  withStore(async (store) => {
    const id = await put(
      store,
      `${`${'x'.repeat(90_000)}\nshort\n`.repeat(3)}${'y'.repeat(60_000)}`,
    )
    const firsts: number[] = []
    for (let offset: number | null = 0; offset !== null;) {
      const read: Lines = await store.read(id, { offset })
      firsts.push(read.from)
      assert.ok(read.nextOffset === null || read.nextOffset > offset)
      // Within a line, what is left of it is passed over; line and column lead into it.
      if (read.from % 2 === 1) assert.equal([read.line, read.column], [read.from, 51_201])
      offset = read.nextOffset
    }
    assert.equal(firsts, [1, 2, 3, 4, 5, 6, 7, 0])
  }))

test('ranges that contradict themselves are refused', () =>
  withStore(async (store) => {
    const id = await put(store, 'x\n')
    for (const range of [
      { head: 1, tail: 1 },
      { tail: 1, offset: 0 },
      { head: 1, limit: 1 },
      { offset: 1, line: 1 },
      { tail: 1, column: 1 },
    ]) {
      assert.is(await codeOf(store.read(id, range)), 'invalid_field', JSON.stringify(range))
    }
  }))

test('the last lines and raw bytes', () =>
  withStore(async (store) => {
    const id = await put(store, `\u001b[1m${numbered(100)}`)
    assert.equal(await store.read(id, { tail: 2 }), {
      text: 'line 99\nline 100\n',
      from: 99,
      to: 100,
      nextOffset: null,
      line: null,
      column: null,
      totalLines: 100,
    })
    const first = await store.readBytes(id, { limit: 6 })
    assert.is(first.bytes.toString(), '\u001b[1mli')
    assert.is(first.nextOffset, 6)
    const end = await store.readBytes(id, { offset: -5 })
    assert.is(end.bytes.toString(), ' 100\n')
    assert.is(end.nextOffset, null)
    assert.is(end.offset, end.totalBytes - 5)
  }))

test('grep shows numbered lines with context and goes on where it stopped', () =>
  withStore(async (store) => {
    const id = await put(store, `\u001b[32m${numbered(3000)}`)
    const found = await store.grep(id, { pattern: '^line 100\\d?$', before: 1, after: 1 })
    const oracle = spawnSync('grep', ['-n', '-E', '-B1', '-A1', '^line 100[0-9]?$'], {
      input: numbered(3000),
      encoding: 'utf8',
    })
    const { places, ...others } = found
    assert.equal(others, { text: oracle.stdout, matches: 11, nextOffset: null, timedOut: false })
    assert.equal(places[1], { line: 1000, column: 1 })
    const some = await store.grep(id, { pattern: 'LINE 2', ignoreCase: true, limit: 3 })
    assert.is(some.text, '2:line 2\n20:line 20\n21:line 21\n')
    const rest = await store.grep(id, { pattern: 'line 2', limit: 1, offset: some.nextOffset! })
    assert.is(rest.text, '22:line 22\n')
    assert.equal((await store.grep(id, { pattern: 'nowhere' })).matches, 0)
  }))

test('grep agrees with grep on the first matches of a long artifact', () =>
  withStore(async (store) => {
    const text = numbered(200_000)
    const id = await put(store, text)
    const found = await store.grep(id, { pattern: '99$', limit: 100 })
    const oracle = spawnSync('grep', ['-n', '-m', '100', '99$'], { input: text, encoding: 'utf8' })
    assert.is(found.text, oracle.stdout)
  }))

test('who went on by next_offset after a search that ran out of time got no further', () =>
  withStore(async (store) => {
    const id = await put(store, `a\nb\n${'a'.repeat(5000)}!\na\n`)
    const found = []
    let offset: number | null = 0
    while (offset !== null && found.length < 9) {
      const part = await store.grep(id, { pattern: '^(a+)+$', timeoutMs: 1500, offset })
      const { text, nextOffset, timedOut, passedOver = null } = part
      found.push([text, nextOffset, timedOut, passedOver])
      offset = nextOffset
    }
    assert.equal(found, [
      ['1:a\n', 2, true, null],
      ['', 3, true, 3],
      ['4:a\n', null, false, null],
    ])
  }))

test('a match is found and shown wherever it stands in a long line', () =>
  withStore(async (store) => {
    const line = `${'ž'.repeat(300_000)}needle 😀${'x'.repeat(5000)}`
    const id = await put(store, `short\n${line}\nneedle\n`)
    const found = await store.grep(id, { pattern: 'needle 😀|^needle' })
    assert.equal(found.places, [
      { line: 2, column: 300_001 },
      { line: 3, column: 1 },
    ])
    const [long, last] = found.text.split('\n')
    assert.match(long!, /^2:… \[(\d+) chars omitted\] ž+needle 😀x+… \[(\d+) chars omitted\]$/u)
    const [, before, shown, after] = /\[(\d+) chars omitted\] (.*)… \[(\d+) /.exec(long!)!
    assert.is(shown!.length, 2000)
    const chars = Array.from(shown!).length
    assert.is(Number(before) + chars + Number(after), 300_000 + 8 + 5000)
    assert.is(last, '3:needle')
  }))

test('a long line is searched as one line, and of one over 16 MiB the beginning, which is told', () =>
  withStore(async (store) => {
    const filler = (count: number) => 'ž'.repeat(count)
    const line = `${filler(1_200_000)}needle${filler(1_200_000)}needle${filler(1_200_000)}`
    const longer = `${filler(8_500_000)}needle`
    const id = await put(store, `short\n${line}\nneedle\n${longer}\nneedle`)
    const search = (pattern: string) => store.grep(id, { pattern, timeoutMs: 60_000 })
    const inLine = (line: number, column: number) => ({ line, column })
    const { places, partlySearched } = await search('needle')
    assert.equal(places, [inLine(2, 1_200_001), inLine(3, 1), inLine(5, 1)])
    assert.is(partlySearched, 4)
    assert.equal((await search('needlež*needle')).places, [inLine(2, 1_200_001)])
    const { text } = await store.grep(id, { pattern: 'needle', limit: 1 })
    const [, before, after] = /\[(\d+) .*needle.*\[(\d+) /.exec(text)!.map(Number)
    assert.is(before! + 2000 + after!, 3_600_012)
    const shown = await store.read(id, { line: 2, column: 1_200_001, maxBytes: 8 })
    assert.is(shown.text, 'needlež')
  }))

test('a search and a long scan end with their reader', () =>
  withStore(async (store) => {
    const id = await put(store, `${'a'.repeat(5000)}!\n${numbered(300_000)}`)
    const reader = new AbortController()
    setTimeout(() => reader.abort(), 100)
    const search = store.grep(id, { pattern: '^(a+)+$', timeoutMs: 60_000, signal: reader.signal })
    assert.is(
      ((await search.catch((error: unknown) => error as Error)) as Error).name,
      'AbortError',
    )
    const scan = store.read(id, { offset: 200_000 }, { signal: reader.signal })
    assert.is(((await scan.catch((error: unknown) => error as Error)) as Error).name, 'AbortError')
  }))

test('the next and the previous match are found from anywhere', () =>
  withStore(async (store) => {
    const id = await put(store, numbered(300_000))
    const text = await store.open(id)
    try {
      const find = (from: number, backwards: boolean) =>
        store.findNext(text, { pattern: '77777$', from, backwards })
      assert.equal(await find(0, false), { line: 77_776, column: 5 })
      assert.equal(await find(77_777, false), { line: 177_776, column: 6 })
      assert.equal(await find(Infinity, true), { line: 277_776, column: 6 })
      assert.equal(await find(277_775, true), { line: 177_776, column: 6 })
      assert.is(await find(277_777, false), null)
      assert.is(await find(77_775, true), null)
      assert.is(await text.countLines(), 300_000)
    } finally {
      await text.close()
    }
  }))

async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    return await promise
  } catch (error) {
    return error instanceof MisuseError ? error.code : error
  }
}

test('a wrong pattern and an unknown id are misuse', () =>
  withStore(async (store, dir) => {
    const id = await put(store, 'x')
    assert.is(await codeOf(store.grep(id, { pattern: '(' })), 'invalid_field')
    writeFileSync(join(dir, 'secret.json'), '{}')
    for (const wrong of [
      '',
      '../secret',
      'art_x',
      `${id}x`,
      'run_aaaaaaaaaaaaaaaaaaaa',
      id.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
    ]) {
      assert.is(await codeOf(store.find(wrong)), 'not_found')
    }
  }))

test('list, remove, and files that are not ours', () =>
  withStore(async (store, dir) => {
    const id = await put(store, 'one\n')
    writeFileSync(join(dir, 'README'), 'not ours')
    const [info, ...others] = await store.list()
    assert.equal(others, [])
    assert.is(info?.id, id)
    assert.is(info?.command, 'seq 9')
    assert.is(info?.bytes, 4)
    assert.is(info?.complete, true)
    assert.is(info?.isLive, false)
    await store.remove(id)
    assert.equal(await store.list(), [])
    assert.equal(readdirSync(dir), ['README'])
    assert.equal(await createArtifactStore({ dir: join(dir, 'nowhere') }).list(), [])
  }))

test('a damaged record, or a pipe or folder in its place, costs that entry only', () =>
  withStore(async (store, dir) => {
    const kept = await put(store, 'kept\n')
    const [damaged, piped, folder] = [
      await put(store, 'a'),
      await put(store, 'b'),
      await put(store, 'c'),
    ]
    const record = readFileSync(join(dir, `${damaged}.json`), 'utf8')
    writeFileSync(join(dir, `${damaged}.json`), record.replace('"seq 9"', 'null'))
    spawnSync('rm', [join(dir, `${piped}.json`), join(dir, `${folder}.json`)])
    assert.is(spawnSync('mkfifo', [join(dir, `${piped}.json`)]).status, 0)
    mkdirSync(join(dir, `${folder}.json`))
    const found = await store.list()
    assert.equal(
      found.map(({ id }) => id),
      [kept],
    )
    const left = [damaged, piped, folder].map((id) => join(dir, `${id}.json`))
    assert.equal((await store.listDamaged()).sort(), left.sort())
  }))

test('an artifact is not followed through a link', () =>
  withStore(async (store, dir) => {
    const id = await put(store, 'x')
    const other = id.replace(/.{4}$/, 'aaaa')
    writeFileSync(
      join(dir, `${other}.json`),
      readFileSync(join(dir, `${id}.json`), 'utf8').replaceAll(id, other),
    )
    symlinkSync('/etc/hostname', join(dir, `${other}.log`))
    await store.read(other).then(
      () => assert.unreachable(),
      (error: NodeJS.ErrnoException) => assert.is(error.code, 'ELOOP'),
    )
  }))

test('prune removes the old, then the oldest over the quota, never the live', () =>
  withFolder(async (dir) => {
    const store = createArtifactStore({ dir, storeBytes: 25_000, ageDays: 14 })
    const age = (id: string, days: number) => {
      const time = Date.now() / 1000 - days * 86_400
      for (const name of readdirSync(dir))
        if (name.startsWith(id)) utimesSync(join(dir, name), time, time)
    }
    const live = store.create({ runId: 'run_l', command: 'sleep', stream: 'output' })
    await live.write(Buffer.alloc(600_000, 0x6c))
    const old = await put(store, 'old')
    const first = await put(store, 'f'.repeat(10_000))
    const second = await put(store, 's'.repeat(10_000))
    age(old, 15)
    age(first, 3)
    age(second, 2)
    age(live.id, 20)
    // The live one alone is over the quota: everything else has to go.
    const { removed } = await store.prune()
    assert.equal(removed.sort(), [old, first, second].sort())
    const { artifact } = await live.finish()
    assert.is(statSync(artifact!.path).size, 600_000)
    age(live.id, 20)
    assert.equal((await store.prune()).removed, [live.id])
    assert.equal(readdirSync(dir), [])
  }))

test('what a killed nacre left is listed as incomplete and can go', () =>
  withFolder(async (dir) => {
    const script = `
      import { createArtifactStore } from './lib/output/artifact/store.ts'
      const writer = createArtifactStore({ dir: ${JSON.stringify(dir)} }).create({ runId: 'run_k', command: 'yes', stream: 'output' })
      async function write() {
        for (;;) {
          await writer.write(Buffer.alloc(100_000, 0x79))
          if (writer.artifact.bytes === 2_000_000) process.stdout.write('written\\n')
          if (writer.artifact.bytes > 2_000_000) await new Promise((resolve) => setTimeout(resolve, 10))
        }
      }
      void write()`
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '-e', script],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    await hear(child.stdout, 'data')
    const store = createArtifactStore({ dir, storeBytes: 1 })
    const [live] = await store.list()
    assert.is(live?.isLive, true)
    assert.equal((await store.prune()).removed, [], 'another process still writes it')
    child.kill('SIGKILL')
    await hear(child, 'exit')
    const [left] = await store.list()
    assert.is(left?.isLive, false)
    assert.is(left?.complete, false)
    assert.is(left?.endedAt, null)
    assert.ok(left!.bytes >= 1_000_000)
    assert.match((await store.read(left!.id)).text, /^y{51200}$/)
    assert.equal((await store.prune()).removed, [left!.id])
    assert.equal(readdirSync(dir), [])
  }))

test('two processes do not trip over each other while both prune', () =>
  withFolder(async (dir) => {
    const ids: string[] = []
    const writing = createArtifactStore({ dir })
    for (let count = 0; count < 20; count++) ids.push(await put(writing, 'x'.repeat(1000)))
    const stores = [1, 2, 3].map(() => createArtifactStore({ dir, storeBytes: 1 }))
    const removed = (await Promise.all(stores.map((store) => store.prune()))).flatMap(
      (answer) => answer.removed,
    )
    assert.equal([...new Set(removed)].sort(), ids.sort())
    assert.equal(readdirSync(dir), [])
  }))

test('a full disk costs the artifact, gives its space back, and is told', () =>
  withMount('size=1m', async (store) => {
    const writer = store.create({ runId: 'run_f', command: 'yes', stream: 'output' })
    for (let count = 0; count < 40; count++) await writer.write(Buffer.alloc(100_000, 0x79))
    const { artifact, notice } = await writer.finish()
    assert.is(artifact, null)
    assert.match(notice!, /^The complete output was not kept: ENOSPC/)
    assert.equal(readdirSync(store.dir), [])
  }))

test('a disk that hangs holds up the writes, one after another, and nothing else', () =>
  withFolder(async (dir) => {
    const [image, mounted] = [join(dir, 'image'), join(dir, 'mounted')]
    mkdirSync(mounted)
    const made = spawnSync('sh', [
      '-c',
      `command -v fsfreeze && truncate -s 16M ${image} && mkfs.ext4 -q ${image} && mount -o loop ${image} ${mounted}`,
    ])
    if (made.status !== 0) {
      console.log('SKIP a disk that hangs: no file system that can be frozen is mounted here')
      return
    }
    try {
      const store = createArtifactStore({ dir: join(mounted, 'store'), artifactBytes: 1_500_000 })
      const writer = store.create({ runId: 'run_h', command: 'seq', stream: 'output' })
      const text = numbered(100_000)
      await writer.write(Buffer.from(text.slice(0, 100_000)))
      assert.is(spawnSync('sh', ['-c', `fsfreeze -f ${mounted}`]).status, 0)
      // It must not depend on this process, which may hang.
      const thaw = spawn('sh', ['-c', `sleep 1; fsfreeze -u ${mounted}`])
      const thawed = hear(thaw, 'exit')
      let written = 0
      for (let at = 100_000; at < text.length; at += 50_000) {
        const wrote = Promise.resolve(writer.write(Buffer.from(text.slice(at, at + 50_000))))
        void wrote.then(() => written++)
      }
      await delay(20)
      const meanwhile = { written, isFrozen: thaw.exitCode === null }
      await thawed
      const { artifact, notice } = await writer.finish()
      assert.equal(meanwhile, { written: 0, isFrozen: true })
      assert.is(written, Math.ceil((text.length - 100_000) / 50_000))
      assert.is(notice, null)
      assert.is(readFileSync(artifact!.path, 'utf8'), text)
    } finally {
      assert.is(spawnSync('umount', ['-l', mounted]).status, 0)
    }
  }))

test('a read-only file system costs the artifact and is told', () =>
  withMount('ro', async (store) => {
    const writer = store.create({ runId: 'run_f', command: 'yes', stream: 'output' })
    await writer.write(Buffer.from('x'))
    const { artifact, notice } = await writer.finish()
    assert.is(artifact, null)
    assert.match(notice!, /EROFS/)
  }))

test('a command that reads the whole store ends, although its own output goes there', () =>
  withFolder(async (dir) => {
    const store = createArtifactStore({ dir, artifactBytes: 4_000_000 })
    await put(store, numbered(200_000))
    for (const command of [
      `cat ${dir}/*`,
      `grep -r line ${dir}`,
      `find ${dir} -type f -exec cat {} +`,
    ]) {
      const writer = store.create({ runId: 'run_s', command, stream: 'output' })
      const child = spawn('bash', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] })
      let bytes = 0
      for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
        bytes += chunk.length
        await writer.write(chunk)
      }
      const { artifact } = await writer.finish()
      assert.ok(bytes < 40_000_000, `${command} wrote ${bytes} bytes`)
      assert.ok(existsSync(artifact!.path))
      await store.remove(artifact!.id)
    }
  }))

test.run()
