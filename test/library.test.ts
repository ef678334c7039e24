import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor, type Executor, OutputLimitError, type RunEvent } from '../lib/index.ts'

const test = suite<{ executor: Executor }>('library')
test.before.each((context) => {
  context.executor = createExecutor()
})
test.after.each(({ executor }) => executor.close())

const numbers = Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join('')

test("a program's result held the end of a long output alone, and nothing said so", async ({
  executor,
}) => {
  const long = await executor.run({ command: 'seq 1 200000' })
  assert.ok(long.stdout === numbers)
  assert.equal(
    [long.stderr, long.output, long.truncation, long.artifact],
    ['', undefined, null, null],
  )
  const inSession = await executor.run({ session: 's', command: 'seq 1 200000' })
  assert.ok(inSession.stdout === numbers)
})

test('a long line was cut, however many bytes were asked for', async ({ executor }) => {
  const command = "head -c 120000 /dev/zero | tr '\\0' x; echo apart >&2"
  for (const bounds of [{}, { maxBytes: 1e9 }, { tail: 1 }, { truncate: 'none' as const }]) {
    const { stdout, stderr } = await executor.run({ command, ...bounds })
    assert.equal([stdout?.length, stderr], [120_000, 'apart\n'])
  }
})

test("a program's result is what the command wrote, with its colours and carriage returns", async ({
  executor,
}) => {
  const command = String.raw`printf '\033[31mred\r\n50%%\r100%%\377'`
  const { stdout } = await executor.run({ command })
  assert.is(stdout, '\u001b[31mred\r\n50%\r100%\ufffd')
})

test('a program gets bounds where it asks for them, and a model always', async ({ executor }) => {
  const command = 'seq 1 200000'
  const lastTwo = await executor.run({ command, tail: 2 })
  assert.equal([lastTwo.stdout, lastTwo.truncation?.totalLines], ['199999\n200000\n', 200_000])
  const bytes = await executor.run({ command, maxBytes: 14 })
  assert.is(bytes.stdout, '199999\n200000\n')
  const ends = await executor.run({ command, truncate: 'head-tail' })
  assert.equal(ends.truncation?.shownRanges, [
    [1, 80],
    [199_921, 200_000],
  ])
  const ofModel = await executor.run({ command, origin: 'agent', sandbox: 'off' })
  assert.equal([ofModel.truncation?.outputLines, ofModel.stdout], [2000, undefined])
})

test('an output of more than a result can hold stops its run and throws', async ({ executor }) => {
  const run = await executor.start({ command: 'yes >&2' })
  const error: unknown = await run.result.catch((thrown: unknown) => thrown)
  assert.instance(error, OutputLimitError)
  assert.match((error as Error).message, 'more than 100 MB to stderr')
  const { status, reason, stderr = '' } = await run.ended
  assert.equal([status, reason], ['stopped', 'output_limit'])
  assert.ok(stderr.length > 99_000_000 && stderr.length <= 100_000_000)
})

test('a program that wants no text listens to as much as it likes', async ({ executor }) => {
  let bytes = 0
  const onEvent = (event: RunEvent) => {
    if (event.type === 'output') bytes += event.bytes.length
  }
  const command = 'yes | head -c 120000000'
  const { status } = await executor.run({ command }, { onEvent, text: false })
  assert.equal([status, bytes], ['exited', 120_000_000])
})

test('bytes that a listener had kept became those of later output', async ({ executor }) => {
  const kept: Uint8Array[] = []
  await executor.run(
    { command: 'seq 1 200000' },
    { onEvent: (event) => void (event.type === 'output' && kept.push(event.bytes)) },
  )
  assert.ok(Buffer.concat(kept).toString() === numbers)
})

test('several events that were asked for at once never came', async ({ executor }) => {
  const run = await executor.start({ command: 'echo a' })
  const events = run.events[Symbol.asyncIterator]()
  const asked = await Promise.all([1, 2, 3, 4].map(() => events.next()))
  assert.equal(
    asked.map(({ value, done }) => (done ? 'done' : value.type)),
    ['started', 'output', 'exited', 'done'],
  )
})

test.run()
