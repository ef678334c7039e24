import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createStyle } from '../../../lib/repl/screen/text.ts'
import { openArtifact, openLines } from '../../../lib/repl/viewer/text-source.ts'
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
  copy: () => undefined,
  save: async () => '',
  handOver: async () => undefined,
}

const quiet = new AbortController().signal

test('a text that takes long to hand over says how it is stopped, and the viewer stays', async () => {
  const given: string[] = []
  let copied = 0
  const viewer = createViewer({
    ...plainOptions,
    source: openLines(() => ['1', '2', '3']),
    copy: () => void copied++,
    handOver: (command, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')))
        given.push(command)
      }),
  })
  const shown = () => viewer.render(80, 5).lines.join('\n')
  const shows = (text: string) => until(() => shown().includes(text), shown)
  await shows('1–3 of 3')

  for (const key of '|wc -l\r') viewer.key(key)
  await until(() => given.length === 1)
  assert.is(given[0], 'wc -l')
  await shows('Ctrl-C stops')
  viewer.key(keys.ctrl('c'))
  await shows('stopped')
  viewer.key('y')
  assert.is(copied, 1, 'the viewer is still there')
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

test.run()
