import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { findSshObstacle } from '../../helpers/ssh-host.ts'
import { findNetworkObstacle, openLine, tryCut } from '../../stress/cuts.ts'

const sshObstacle = findSshObstacle()
const networkObstacle = sshObstacle ?? findNetworkObstacle()
if (sshObstacle !== null) console.log(`SKIP connections that are cut: ${sshObstacle}`)
else if (networkObstacle !== null) console.log(`SKIP packets that are dropped: ${networkObstacle}`)

if (sshObstacle === null) {
  test('a server that dies at any moment leaves no hang and no false success', async () => {
    const line = await openLine('server')
    try {
      for (let round = 0; round < 5; round++) {
        assert.equal(await tryCut(line, Math.random() * 700, 0), [])
      }
      const after = await line.executor.run({ command: 'true', origin: 'print', host: 'box' })
      assert.is(after.exitCode, 0, `the next run has a new connection: ${JSON.stringify(after)}`)
    } finally {
      await line.close()
    }
  })
}

if (networkObstacle === null) {
  test('packets that are dropped without a word make a run lost, and a job is found again', async () => {
    const line = await openLine('packets')
    try {
      const warm = await line.executor.run({ command: 'true', origin: 'print', host: 'box' })
      assert.is(warm.exitCode, 0, JSON.stringify(warm))
      assert.equal(await tryCut(line, 150, 17_000), [])
    } finally {
      await line.close()
    }
  })
}

test.run()
