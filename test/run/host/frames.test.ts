import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createDeferred } from '../../../lib/protocol/deferred.ts'
import type { Request } from '../../../lib/protocol/request/request.ts'
import { followFrames } from '../../../lib/run/host/follower.ts'
import { createFrameReader, frameHead, type Heard } from '../../../lib/run/host/frames.ts'

const name = '0123456789abcdef'
const frame = (text: string) => `${frameHead(name)}${text}\n`

function readAll(chunks: readonly Buffer[]) {
  const frames: Heard[] = []
  const reader = createFrameReader(name, (found) => frames.push(found))
  const bytes = chunks.flatMap((chunk) => reader.read(chunk))
  return { text: Buffer.concat(bytes).toString('latin1'), frames, preamble: reader.preamble }
}

test('what a command writes passes, and nothing else', () => {
  const all = `banner\n${frame('begin /home')}one${frame('pid 7')}two\u001e${frame('end 3')}late`
  assert.equal(readAll([Buffer.from(all)]), {
    text: 'onetwo\u001e',
    frames: [{ begun: true, startedIn: '/home' }, { pid: 7 }, { code: 3, signal: null }],
    preamble: 'banner\n',
  })
})

test('the answer is the same wherever the bytes are cut', () => {
  const part = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', '\n', '\u001e', 'nacre:', name.slice(0, 5)) }),
    fc.constantFrom(frame('pid 12'), frameHead(name).slice(0, 9), frameHead('other')),
  )
  fc.assert(
    fc.property(fc.array(part), fc.array(fc.nat(40)), (parts, sizes) => {
      const all = Buffer.from(
        `words${frame('begin /')}${parts.join('')}${frame('end 0')}`,
        'latin1',
      )
      const chunks: Buffer[] = []
      let at = 0
      for (const size of sizes) chunks.push(all.subarray(at, (at += size)))
      chunks.push(all.subarray(at))
      assert.equal(readAll(chunks), readAll([all]))
    }),
  )
})

test('a command has not ended before what it wrote is taken', async () => {
  const { promise: taken, resolve: take } = createDeferred()
  const events: string[] = []
  const request = { streams: 'separate', pty: null } as Request
  const follower = followFrames(request, name, {
    async write(_stream, bytes) {
      await taken
      events.push(Buffer.from(bytes).toString())
    },
  })
  void follower.ended.then(() => events.push('end'))
  const told = (text: string) => Buffer.from(`${frame('begin /')}${text}${frame('end 0')}`)
  const written = [
    follower.write('stdout', told('last words')),
    follower.write('stderr', told('')),
    new Promise((turned) => setImmediate(turned)).then(() => take()),
  ]
  await Promise.all([...written, follower.ended])
  assert.equal(events, ['last words', 'end'])
})

test('a result of another shape is none, and one of a later nacre has what is known', () => {
  const told = {
    status: 'exited',
    exit_code: 3,
    signal: null,
    reason: null,
    pipe_status: [3],
    usage: null,
    error: null,
    notices: [],
  }
  const read = (result: unknown) =>
    readAll([Buffer.from(frame('begin /') + frame(`result ${JSON.stringify(result)}`))]).frames[1]
  const { exit_code: exitCode, pipe_status: pipeStatus, ...rest } = told
  const known = { told: { ...rest, exitCode, pipeStatus } }
  assert.equal(read({ ...told, later: 1 }), known)
  for (const wrong of [{ error: 5 }, { exit_code: '3' }, { notices: [{}] }, { usage: 7 }]) {
    assert.is(read({ ...told, ...wrong }), undefined, JSON.stringify(wrong))
  }
})

test.run()
