import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createStyle } from '../../../../lib/doors/repl/screen/style.ts'
import { openLines, type Search } from '../../../../lib/doors/repl/viewer/text-source.ts'
import { createViewer } from '../../../../lib/doors/repl/viewer/viewer.ts'
import { keys } from '../../../helpers/keys.ts'
import { until } from '../../../helpers/until.ts'

test('a text that is handed over tells how far it is, can be stopped, and keeps what is typed for what follows', async () => {
  const ahead: string[] = []
  const given: { command: string; search: Search; end: (error?: Error) => void }[] = []
  let copied = 0
  const viewer = createViewer({
    title: 'seq 3',
    source: openLines(() => ['1', '2', '3']),
    style: createStyle({ NO_COLOR: '1' }),
    follows: false,
    refresh: () => undefined,
    onClose: () => undefined,
    onAhead: (data) => void ahead.push(data),
    copy: () => void copied++,
    save: async () => '',
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

test.run()
