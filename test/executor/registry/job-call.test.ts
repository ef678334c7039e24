import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { callOwner, OwnerGone } from '../../../lib/executor/registry/job-call.ts'

test('an owner whose socket is gone is told as gone, and nothing else goes wrong', async () => {
  const path = join(tmpdir(), `nacre-no-such-${process.pid}.sock`)
  const error = await callOwner(path, { jobId: 'run_a', method: 'show' }).catch(
    (reason: unknown) => reason,
  )
  assert.instance(error, OwnerGone)
})

test.run()
