import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Result } from '../../lib/protocol/result/result.ts'
import { listenToText } from '../../lib/protocol/result/event.ts'

test('text is the same however its bytes are split between pieces, and its rest comes before the end', () => {
  fc.assert(
    fc.property(
      fc.uint8Array(),
      fc.array(fc.nat(20)),
      fc.string({ unit: 'grapheme' }),
      (raw, cuts, text) => {
        const streams = { stdout: Buffer.from(text), stderr: Buffer.from(raw) }
        const heard = { stdout: '', stderr: '' }
        const types: string[] = []
        const listen = listenToText((event) => {
          types.push(event.type)
          if (event.type === 'output') heard[event.stream as keyof typeof heard] += event.data
        })
        for (const [stream, bytes] of Object.entries(streams) as ['stdout' | 'stderr', Buffer][]) {
          let at = 0
          for (const size of [...cuts, bytes.length]) {
            void listen({ type: 'output', id: 'run', stream, bytes: bytes.subarray(at, at + size) })
            at += size
          }
        }
        void listen({ type: 'exited', id: 'run', result: {} as Result })
        assert.is(heard.stdout, Buffer.from(text).toString())
        assert.is(heard.stderr, Buffer.from(raw).toString())
        assert.is(types.at(-1), 'exited')
      },
    ),
  )
})

test.run()
