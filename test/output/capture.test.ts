import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createArtifactStore } from '../../lib/output/artifact/store.ts'
import { type Capture, type CaptureOptions, createCapture } from '../../lib/output/capture.ts'
import { withFolder } from './temporary.ts'

const request: CaptureOptions['request'] = {
  streams: 'merged',
  head: null,
  tail: null,
  maxLines: 2000,
  maxBytes: 51_200,
  truncate: 'tail',
  artifact: 'auto',
  pty: null,
}

function open(
  options: Partial<CaptureOptions['request']>,
  dir: string | null,
  quota = 1e9,
): Capture {
  const store = dir === null ? null : createArtifactStore({ dir, artifactBytes: quota })
  return createCapture({
    runId: 'run_x',
    command: 'cmd',
    request: { ...request, ...options },
    store,
  })
}

const numbered = (count: number) =>
  Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join('')
const filesIn = (dir: string) => readdirSync(dir).filter((name) => name.endsWith('.log'))

test('a text that fits leaves nothing on disk', () =>
  withFolder(async (dir) => {
    const capture = open({}, join(dir, 'store'))
    await capture.write('output', Buffer.from('hello\n'))
    assert.equal(await capture.finish(), {
      output: 'hello\n',
      truncation: null,
      artifact: null,
      notices: [],
    })
    assert.equal(readdirSync(dir), [])
  }))

test('what does not fit is kept raw and complete, 0600 in 0700', () =>
  withFolder(async (dir) => {
    const store = join(dir, 'store')
    const capture = open({}, store)
    const raw = Buffer.from(`\u001b[31m${numbered(9000)}\u001b[0m`)
    for (let at = 0; at < raw.length; at += 1000)
      await capture.write('output', raw.subarray(at, at + 1000))
    const { output, truncation, artifact, notices } = await capture.finish()
    assert.ok(output?.endsWith('line 9000\n'))
    assert.is(truncation?.totalLines, 9000)
    assert.equal(notices, [])
    assert.is(artifact?.uri, `artifact://${artifact?.id}`)
    assert.is(artifact?.bytes, raw.length)
    assert.is(artifact?.complete, true)
    assert.ok(readFileSync(artifact!.path).equals(raw))
    assert.is(statSync(artifact!.path).mode & 0o777, 0o600)
    assert.is(statSync(store).mode & 0o777, 0o700)
  }))

test('always keeps, never does not', () =>
  withFolder(async (dir) => {
    const always = open({ artifact: 'always' }, dir)
    await always.write('output', Buffer.from('x'))
    const kept = await always.finish()
    assert.is(readFileSync(kept.artifact!.path, 'utf8'), 'x')
    assert.is(kept.truncation, null)
    const never = open({ artifact: 'never' }, dir)
    await never.write('output', Buffer.from(numbered(9000)))
    const lost = await never.finish()
    assert.is(lost.artifact, null)
    assert.is(lost.truncation?.totalLines, 9000)
    assert.is(filesIn(dir).length, 1)
  }))

test('raw output far larger than its text is not kept when the text fits', () =>
  withFolder(async (dir) => {
    const capture = open({}, dir)
    for (let frame = 0; frame < 20_000; frame++) {
      await capture.write(
        'output',
        Buffer.from(`\r\u001b[32mframe ${frame} of many, many, many frames\u001b[0m`),
      )
    }
    const { output, artifact } = await capture.finish()
    assert.is(output, 'frame 19999 of many, many, many frames')
    assert.is(artifact, null)
    assert.equal(readdirSync(dir), [])
  }))

test('head leaves the rest to the artifact', () =>
  withFolder(async (dir) => {
    const capture = open({ head: 2 }, dir)
    await capture.write('output', Buffer.from(numbered(10)))
    const { output, artifact, truncation } = await capture.finish()
    assert.is(output, 'line 1\nline 2\n')
    assert.equal(truncation?.shownRanges, [[1, 2]])
    assert.is(readFileSync(artifact!.path, 'utf8'), numbered(10))
  }))

test('separate streams read together have their lines in the order in which they came', () =>
  withFolder(async (dir) => {
    const capture = open({ streams: 'separate' }, dir)
    const parts: ['stdout' | 'stderr', string][] = [
      ['stdout', 'one\ntw'],
      ['stderr', 'a\n'],
      ['stdout', 'o\n'],
      ['stderr', '10%\r'],
      ['stdout', 'three\n'],
      ['stderr', '90%\r'],
      ['stdout', 'four\n'],
      ['stderr', '100%\nb\n'],
      ['stdout', 'five'],
    ]
    for (const [stream, text] of parts) await capture.write(stream, Buffer.from(text))
    await capture.finish()
    assert.is(capture.read({}).text, 'one\na\ntwo\nthree\nfour\n100%\nb\nfive')
    assert.is(capture.read({ stream: 'stdout' }).text, 'one\ntwo\nthree\nfour\nfive')
    assert.is(capture.read({ stream: 'stderr' }).text, 'a\n100%\nb\n')
  }))

test('separate streams have their own text, limits and artifacts', () =>
  withFolder(async (dir) => {
    const capture = open({ streams: 'separate', maxLines: 5 }, dir)
    // A character and a sequence in two halves, with the other stream between.
    await capture.write('stdout', Buffer.from([0x61, 0xc5]))
    await capture.write('stderr', Buffer.from('\u001b[3'))
    await capture.write('stdout', Buffer.from([0xbe, 0x0a]))
    await capture.write('stderr', Buffer.from(`1m${numbered(6)}`))
    const { stdout, stderr, output, truncation, artifact, stderrTruncation, stderrArtifact } =
      await capture.finish()
    assert.is(output, undefined)
    assert.is(stdout, 'až\n')
    assert.is(stderr, 'line 2\nline 3\nline 4\nline 5\nline 6\n')
    assert.is(truncation, null)
    assert.is(artifact, null)
    assert.equal(stderrTruncation?.shownRanges, [[2, 6]])
    assert.is(readFileSync(stderrArtifact!.path, 'utf8'), `\u001b[31m${numbered(6)}`)
  }))

test('two streams of binary data, in turns, are cleaned as each would be alone', async () => {
  const noise = randomBytes(1_500_000)
  const colours = Buffer.alloc(noise.length, '\u001b[31mred\u001b[0m, caf\u00e9 \u{1f680}\r\n\0')
  const shown = async (streams: Record<string, Buffer>) => {
    const capture = open({ streams: 'separate' }, null)
    for (let at = 0; at < noise.length; at += 65_521) {
      for (const [stream, bytes] of Object.entries(streams)) {
        await capture.write(stream as 'stdout', bytes.subarray(at, at + 65_521))
      }
    }
    return capture.finish()
  }
  const both = await shown({ stdout: noise, stderr: colours })
  assert.is(both.stdout, (await shown({ stdout: noise })).stdout)
  assert.is(both.stderr, (await shown({ stderr: colours })).stderr)
  assert.match(both.stderr!, /^red, caf\u00e9 \u{1f680}$/mu)
})

test('a snapshot tells what there is while the run goes on', () =>
  withFolder(async (dir) => {
    const capture = open({ maxLines: 2 }, dir)
    await capture.write('output', Buffer.from('one\ntwo\nthr'))
    const { output, truncation, artifact } = capture.snapshot()
    assert.is(output, 'two\nthr')
    assert.is(truncation?.totalLines, 3)
    assert.is(artifact?.bytes, 11)
    await capture.write('output', Buffer.from('ee\n'))
    const end = await capture.finish()
    assert.is(end.output, 'two\nthree\n')
    assert.is(end.artifact?.id, artifact?.id)
    assert.is(readFileSync(end.artifact!.path, 'utf8'), 'one\ntwo\nthree\n')
  }))

test('readers with a cursor see prompts at once and progress as lines of its own', async () => {
  const capture = open({}, null)
  let cursor = 0
  const read = () => {
    const answer = capture.read({ cursor })
    cursor = answer.cursor
    return answer.text
  }
  assert.is(read(), '')
  await capture.write('output', Buffer.from('start\nPassword: '))
  assert.is(read(), 'start\nPassword: ')
  assert.is(read(), '')
  await capture.write('output', Buffer.from('\nok\n10%'))
  assert.is(read(), '\nok\n10%')
  await capture.write('output', Buffer.from('\r20%'))
  assert.is(read(), '\n20%')
  await capture.write('output', Buffer.from('\r\u001b[Kdone\n'))
  assert.is(read(), '\ndone\n')
  await capture.write('output', Buffer.from(numbered(1000)))
  assert.is(read(), numbered(1000))
  const { output } = await capture.finish()
  assert.is(read(), '')
  assert.is(output, `start\nPassword: \nok\ndone\n${numbered(1000)}`)
})

test('a slow reader is told how much it missed, and reads the rest in bounded parts', async () => {
  const capture = open({}, null)
  const text = numbered(300_000)
  await capture.write('output', Buffer.from(text))
  const { start, text: bytes } = capture.kept().output
  const kept = bytes.toString()
  assert.is(start + kept.length, text.length)
  assert.ok(kept.length >= 1024 * 1024 - 1)
  let part = capture.read({ cursor: 10 })
  assert.is(part.truncatedBefore, start - 10)
  let read = part.text
  while (part.moreBytes > 0) {
    part = capture.read({ cursor: part.cursor })
    assert.is(part.truncatedBefore, 0)
    assert.ok(Buffer.byteLength(part.text) <= 51_200)
    read += part.text
  }
  assert.is(read, kept)
  assert.is(part.cursor, text.length)
})

test('each of two streams is read alone, with cursors of its own, or both together', async () => {
  const capture = open({ streams: 'separate' }, null)
  await capture.write('stdout', Buffer.from('out 1\n'))
  await capture.write('stderr', Buffer.from('err 1\n'))
  await capture.write('stdout', Buffer.from('out 2\nprompt: '))
  const stdout = capture.read({ stream: 'stdout' })
  assert.is(stdout.text, 'out 1\nout 2\nprompt: ')
  assert.is(capture.read({ stream: 'stderr' }).text, 'err 1\n')
  assert.is(capture.read({ stream: 'stdout', cursor: stdout.cursor }).text, '')
  assert.is(capture.read({ stream: 'stdout', cursor: 6, head: 1 }).text, 'out 2\n')
  await capture.write('stdout', Buffer.from('yes\n'))
  assert.is(capture.read({ stream: 'stdout', cursor: stdout.cursor }).text, 'yes\n')
  await capture.finish()
  const both = capture.read({}).text
  for (const text of ['out 1\n', 'err 1\n', 'out 2\n', 'yes\n']) assert.ok(both.includes(text))
  assert.throws(() => open({}, null).read({ stream: 'stdout' }), /merged/)
})

test('a quota keeps both ends with one line between, and the run goes on', () =>
  withFolder(async (dir) => {
    const quota = 100_000
    const text = numbered(100_000)
    const capture = open({}, dir, quota)
    for (let at = 0; at < text.length; at += 7777)
      await capture.write('output', Buffer.from(text.slice(at, at + 7777)))
    const { artifact, truncation, notices } = await capture.finish()
    assert.is(truncation?.totalLines, 100_000)
    assert.is(notices.length, 1)
    assert.is(artifact?.complete, false)
    assert.is(artifact?.bytes, text.length)
    const kept = readFileSync(artifact!.path, 'utf8')
    assert.ok(Buffer.byteLength(kept) <= quota)
    const [, head, omitted, tail] =
      /^([^]*)\n… \[(\d+) bytes omitted: .*\] …\n([^]*)$/.exec(kept) ?? []
    assert.is(head, text.slice(0, quota / 2))
    assert.ok(text.endsWith(tail!) && tail!.length > 49_000)
    assert.is(head!.length + Number(omitted) + tail!.length, text.length)
    assert.equal(readdirSync(dir).sort(), [`${artifact!.id}.json`, `${artifact!.id}.log`].sort())
  }))

test('just under its quota an artifact is complete', () =>
  withFolder(async (dir) => {
    const text = numbered(10_000)
    const capture = open({}, dir, text.length + 128)
    await capture.write('output', Buffer.from(text))
    const { artifact } = await capture.finish()
    assert.is(artifact?.complete, true)
    assert.is(readFileSync(artifact!.path, 'utf8'), text)
  }))

/** Writes what does not fit and tells how it ended. */
async function overflow(dir: string, between: () => void = () => {}) {
  const capture = open({}, dir)
  await capture.write('output', Buffer.from(numbered(200_000)))
  between()
  await capture.write('output', Buffer.from(numbered(200_000)))
  const captured = await capture.finish()
  assert.is(captured.truncation?.totalLines, 400_000)
  return captured
}

test('a store that cannot be made costs the artifact, not the run', () =>
  withFolder(async (dir) => {
    writeFileSync(join(dir, 'file'), '')
    const { artifact, notices } = await overflow(join(dir, 'file', 'store'))
    assert.is(artifact, null)
    assert.is(notices.length, 1)
    assert.match(notices[0]!, /^The complete output was not kept: ENOTDIR/)
  }))

test('a store that is removed while the run goes on is told once', () =>
  withFolder(async (dir) => {
    const store = join(dir, 'store')
    mkdirSync(store)
    const { artifact, notices } = await overflow(store, () => rmSync(store, { recursive: true }))
    assert.is(artifact, null)
    assert.is(notices.length, 1)
    assert.match(notices[0]!, /not kept/)
  }))

test('memory is bounded whatever comes', async () => {
  const streams: Record<string, string> = {
    lines: numbered(5000),
    'one line without an end': 'x'.repeat(60_000),
    'wide characters without an end': '漢'.repeat(20_000),
    'controls only': '\0'.repeat(60_000),
    frames: '\rframe of a progress display'.repeat(2000),
    'a string without an end': `\u001b]0;${'x'.repeat(60_000)}`,
    'tall redraws': `${'\u001b[A'.repeat(50)}${`${'y'.repeat(900)}\n`.repeat(50)}`,
    'combining characters without an end': `\re${'\u0301'.repeat(30_000)}`,
  }
  for (const [name, text] of Object.entries(streams)) {
    const capture = open({}, null)
    const chunk = Buffer.from(text)
    const before = process.memoryUsage().arrayBuffers
    let most = 0
    for (let written = 0; written < 3e7; written += chunk.length) {
      await capture.write('output', chunk)
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
    }
    assert.ok(most < 10e6, `${name}: ${most} bytes`)
    await capture.finish()
  }
})

test.run()
