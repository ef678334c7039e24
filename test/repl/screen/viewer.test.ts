import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createStyle } from '../../../lib/repl/screen/style.ts'
import {
  joinTexts,
  openArtifact,
  openLines,
  type Search,
} from '../../../lib/repl/viewer/text-source.ts'
import { createViewer, type ViewerOptions } from '../../../lib/repl/viewer/viewer.ts'
import { createArtifactStore } from '../../../lib/output/artifact/store.ts'
import { keys } from '../../helpers/keys.ts'
import { until } from '../../helpers/until.ts'
import { withFolder } from '../../output/temporary.ts'

const plainOptions: Omit<ViewerOptions, 'source'> = {
  title: 'seq 3',
  style: createStyle({ NO_COLOR: '1' }),
  follows: false,
  refresh: () => undefined,
  onClose: () => undefined,
  onAhead: () => undefined,
  copy: () => undefined,
  save: async () => '',
  handOver: async () => undefined,
}

const quiet: Search = { signal: new AbortController().signal, onProgress: () => undefined }

test('a text that is handed over tells how far it is, can be stopped, and keeps what is typed for what follows', async () => {
  const ahead: string[] = []
  const given: { command: string; search: Search; end: (error?: Error) => void }[] = []
  let copied = 0
  const viewer = createViewer({
    ...plainOptions,
    source: openLines(() => ['1', '2', '3']),
    onAhead: (data) => void ahead.push(data),
    copy: () => void copied++,
    handOver: (command, search) =>
      new Promise((resolve, reject) => {
        search.signal.addEventListener('abort', () => reject(new Error('aborted')))
        given.push({ command, search, end: (error) => (error ? reject(error) : resolve()) })
      }),
  })
  const shown = () => viewer.draw(80, 5, false)
  const shows = (text: string) => until(() => shown().includes(text), shown)
  viewer.enter()
  viewer.draw(80, 5, true)
  await shows('1–3 of 3')

  viewer.input('|wc -l\r')
  await until(() => given.length === 1)
  assert.is(given[0]?.command, 'wc -l')
  await until(() => {
    given[0]?.search.onProgress(0.4)
    return shown().includes('40 % · Ctrl-C stops')
  }, shown)
  viewer.input('y')
  assert.is(copied, 0)
  viewer.input(keys.ctrl('c'))
  await until(() => copied === 1)
  assert.equal(ahead, [], 'the viewer is still there')

  viewer.input('|\r')
  await until(() => given.length === 2)
  viewer.input('y')
  viewer.leave()
  given[1]?.end()
  assert.equal([copied, ahead], [1, ['y']])
})

test('an artifact is searched both ways, past a line of any length', () =>
  withFolder(async (dir) => {
    const store = createArtifactStore({ dir })
    const writer = store.create({ runId: 'run_x', command: 'cat', stream: 'output' })
    await writer.write(Buffer.from(`short\nb${'a'.repeat(2_200_000)}d\nbac\nend\n`))
    const { artifact } = await writer.finish()
    const source = await openArtifact(artifact!.id, store)
    try {
      assert.equal(await source.find(/SHORT|d$/i, 3, true, quiet), { line: 3, column: 2 })
      assert.equal(await source.find(/a{9}d$/, 0, false, quiet), { line: 1, column: 2_199_992 })
      assert.equal(await source.find(/SHORT|c/i, 2, true, quiet), { line: 2, column: 2 })
      assert.equal(await source.find(/SHORT/i, 1, true, quiet), { line: 0, column: 0 })
      assert.is(await source.find(/short/, -1, true, quiet), null)
      assert.is(await source.find(/short/, 1, false, quiet), null)
    } finally {
      await source.close()
    }
  }))

test('two texts are read, counted and searched as one', async () => {
  const lines = ['a', 'match', 'b', 'match', 'c']
  const search = quiet
  for (let border = 0; border <= lines.length; border++) {
    const first = openLines(() => lines.slice(0, border))
    const second = openLines(() => lines.slice(border))
    const [one, joined] = [openLines(() => lines), joinTexts(first, second)]
    assert.is(await joined.countLines(quiet), lines.length)
    for (let from = 0; from < lines.length; from++) {
      for (const count of [0, 1, 3, 9]) {
        assert.equal(await joined.read(from, count, 1), await one.read(from, count, 1))
      }
      for (const backwards of [false, true]) {
        assert.equal(
          await joined.find(/match/, from, backwards, search),
          await one.find(/match/, from, backwards, search),
          `border ${border}, from ${from}, backwards ${backwards}`,
        )
      }
    }
  }
})

test('two texts can be read after a count of their lines was given up', async () => {
  const text = openLines(() => ['a', 'b'])
  let counts = 0
  const countLines: typeof text.countLines = async (search) => {
    if (counts++ === 0) throw new Error('given up')
    return text.countLines(search)
  }
  const joined = joinTexts({ ...text, countLines }, text)
  assert.match(String(await joined.countLines(quiet).catch((error: unknown) => error)), 'given up')
  assert.equal(await joined.read(1, 2), ['b', 'a'])
})

test.run()
