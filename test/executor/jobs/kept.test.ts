import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor, type Executor } from '../../../lib/executor/executor.ts'
import { until } from '../../helpers/until.ts'

const test = suite<{ dir: string; executor: Executor }>('what is kept of an ended job')
test.before.each((context) => {
  context.dir = mkdtempSync(join(tmpdir(), 'kept-'))
  context.executor = createExecutor({ stateDir: context.dir, isHolder: true })
})
test.after.each(async ({ dir, executor }) => {
  await executor.close()
  rmSync(dir, { recursive: true })
})

/** 588,895 bytes, a line for each number. */
const numbers = Array.from({ length: 100_000 }, (_, index) => `${index + 1}\n`).join('')

async function endJob({ dir, executor }: { dir: string; executor: Executor }, command: string) {
  const run = await executor.start({
    command,
    origin: 'rpc',
    mode: 'background',
    shell: 'bash',
  })
  await run.ended
  const record = join(dir, 'jobs', 'ended', `${run.id}.json`)
  await until(() => existsSync(record))
  return run
}

test('all of the text of an ended job is read from the disk', async (context) => {
  const { id } = await endJob(context, 'seq 100000')
  let part = await context.executor.jobs.read(id)
  assert.is(part.truncatedBefore, 0)
  let whole = part.text
  while (part.moreBytes > 0) {
    part = await context.executor.jobs.read(id, { cursor: part.cursor })
    whole += part.text
  }
  assert.is(whole, numbers)
})

test('an ended job keeps its result and takes no input', async (context) => {
  const run = await endJob(context, 'echo out; exit 3')
  const { jobs } = context.executor
  assert.equal(await jobs.show(run.id), await run.ended)
  assert.is((await jobs.wait(run.id)).exitCode, 3)
  assert.is((await jobs.list())[0]?.status, 'exited')
  try {
    await jobs.write(run.id, 'more')
    assert.unreachable('an ended job has taken input')
  } catch (error) {
    assert.match(String(error), /has ended/)
  }
})

test('each stream of an ended job can be read by another nacre', async (context) => {
  const { id } = await endJob(context, 'echo out; echo err >&2; seq 100000')
  const other = createExecutor({ stateDir: context.dir })
  try {
    assert.is((await other.jobs.read(id, { stream: 'stderr' })).text, 'err\n')
    assert.is((await other.jobs.read(id, { stream: 'stdout', maxLines: 2 })).text, 'out\n1\n')
    assert.is((await context.executor.jobs.read(id, { stream: 'stderr' })).text, 'err\n')
  } finally {
    await other.close()
  }
})

test.run()
