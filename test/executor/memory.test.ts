import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../lib/executor/executor.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void

const runs = 20
const outputBytes = 100_000

/**
 * Buffers are the greater part of a run. What a young collection leaves of ended ones stays until a full
 * one, and that may be hundreds of runs later.
 */
test('the buffers of ended runs go with a young collection', async () => {
  if (Number.parseInt(process.versions.node) > 20) {
    return console.log('SKIP memory: a later collector leaves dead chains of objects to a full one')
  }
  const executor = createExecutor({ stateDir: null })
  const run = async (session: string | null) => {
    const command = `head -c ${outputBytes} /dev/zero | tr '\\0' x`
    const place = session === null ? {} : { session }
    const result = await executor.run({ command, origin: 'rpc', login: false, ...place })
    assert.is(result.exitCode, 0)
  }
  try {
    for (const session of [null, 'one']) {
      for (let warm = 0; warm < 3; warm++) await run(session)
      collect()
      for (let count = 0; count < runs; count++) await run(session)
      collect({ type: 'minor' })
      collect({ type: 'minor' })
      const young = process.memoryUsage().arrayBuffers
      collect()
      const keptBytes = young - process.memoryUsage().arrayBuffers
      assert.ok(keptBytes < (runs / 2) * outputBytes, `${keptBytes} bytes were kept`)
    }
  } finally {
    await executor.close()
  }
})

test.run()
