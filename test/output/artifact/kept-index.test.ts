import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createArtifactStore } from '../../../lib/output/artifact/store.ts'
import { withFolder } from '../temporary.ts'

const test = suite('kept index')

interface Kept {
  dir: string
  id: string
  /** Of the artifact, and of its index. */
  path: string
  index: string
  /** Line `at` as another process reads it, and how many bytes it looked over to find it. */
  read: (at: number) => Promise<{ text: string; looked: number }>
}

const lineOf = (at: number) => `line ${at} ${'x'.repeat(at % 90)}`

/** An artifact of 12 MB, which nobody has read. */
function withArtifact(use: (kept: Kept) => Promise<void>): Promise<void> {
  return withFolder(async (dir) => {
    const store = createArtifactStore({ dir })
    const writer = store.create({ runId: 'run_x', command: 'seq', stream: 'output' })
    const lines = Array.from({ length: 200_000 }, (_, at) => `${lineOf(at + 1)}\n`)
    await writer.write(Buffer.from(lines.join('')))
    const { artifact } = await writer.finish()
    const { id, path } = artifact!
    await use({
      dir,
      id,
      path,
      index: join(dir, `${id}.index`),
      async read(at) {
        let looked = 0
        const { text } = await createArtifactStore({ dir }).read(
          id,
          { offset: at - 1, limit: 1 },
          { onProgress: (done) => (looked = done) },
        )
        return { text, looked }
      },
    })
  })
}

test('what one process has learnt serves the next one', () =>
  withArtifact(async ({ read, index, path }) => {
    const first = await read(199_999)
    assert.is(first.text, `${lineOf(199_999)}\n`)
    assert.ok(first.looked > 10_000_000)
    assert.is(statSync(index).mode & 0o777, 0o600)
    assert.ok(statSync(index).size < statSync(path).size / 1000)
    for (const at of [1, 77_777, 150_001, 200_000]) {
      assert.equal(await read(at), { text: `${lineOf(at)}\n`, looked: 0 })
    }
  }))

test('a scan that was given up leaves what it has learnt', () =>
  withArtifact(async ({ dir, id, read }) => {
    const store = createArtifactStore({ dir })
    const over = new AbortController()
    const onProgress = (done: number) => {
      if (done > 8_000_000) over.abort(new Error('gone'))
    }
    let said = ''
    const options = { signal: over.signal, onProgress }
    await store.read(id, { tail: 1 }, options).catch((error: Error) => (said = error.message))
    assert.is(said, 'gone')
    assert.equal(await read(60_000), { text: `${lineOf(60_000)}\n`, looked: 0 })
    assert.is((await read(200_000)).text, `${lineOf(200_000)}\n`)
  }))

/** Ways in which an index can be wrong, each of which may cost a scan and nothing else. */
const damages: Record<string, (kept: Kept) => void> = {
  'a byte is another': ({ index }) => {
    const bytes = readFileSync(index)
    bytes[700]! ^= 1
    writeFileSync(index, bytes)
  },
  'it was cut short': ({ index }) => truncateSync(index, 500),
  'it is empty': ({ index }) => truncateSync(index, 0),
  'it is another text': ({ index }) => writeFileSync(index, 'not an index\n'.repeat(100)),
  'a folder is in its place': ({ index }) => {
    rmSync(index)
    mkdirSync(index)
  },
  'a pipe is in its place': ({ index }) => {
    rmSync(index)
    assert.is(spawnSync('mkfifo', [index]).status, 0)
  },
  'the artifact was touched': ({ path }) => utimesSync(path, 1, 1),
}

for (const [name, damage] of Object.entries(damages)) {
  test(`a wrong index costs another scan: ${name}`, () =>
    withArtifact(async (kept) => {
      await kept.read(200_000)
      damage(kept)
      const again = await kept.read(150_000)
      assert.is(again.text, `${lineOf(150_000)}\n`)
      assert.ok(again.looked > 7_000_000, `${again.looked}`)
    }))
}

test('an artifact that another one has replaced is looked over anew', () =>
  withArtifact(async ({ read, path }) => {
    await read(200_000)
    const size = statSync(path).size
    writeFileSync(path, Buffer.alloc(size, 'a\n'))
    assert.is((await read(5_000_000)).text, 'a\n')
  }))

test('an artifact that has grown is looked over from where it was known', () =>
  withArtifact(async ({ read, path }) => {
    await read(200_000)
    appendFileSync(path, `${'more\n'.repeat(200_000)}last\n`)
    const { text, looked } = await read(400_001)
    assert.is(text, 'last\n')
    assert.ok(looked > 0)
    assert.equal(await read(150_000), { text: `${lineOf(150_000)}\n`, looked: 0 })
  }))

test('the index goes with its artifact, and makes it no younger', () =>
  withArtifact(async ({ dir, id, read, path, index }) => {
    await read(200_000)
    assert.ok(existsSync(index))
    const old = Date.now() / 1000 - 20 * 24 * 3600
    utimesSync(path, old, old)
    utimesSync(join(dir, `${id}.json`), old, old)
    assert.equal(await createArtifactStore({ dir }).prune(), { removed: [id] })
    assert.not(existsSync(index))
  }))

test.run()
