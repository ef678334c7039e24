import { spawn } from 'node:child_process'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../../helpers/cli.ts'
import { findHolder, findMarked, markOf, openHome } from '../../helpers/jobs.ts'
import { findSshObstacle, makeClientFolder, startServer } from '../../helpers/ssh-host.ts'
import { hear, until } from '../../helpers/until.ts'

const obstacle = findSshObstacle()
if (obstacle !== null) console.log(`SKIP arrays on hosts of ssh: ${obstacle}`)

if (obstacle === null) {
  const one = await startServer()
  const two = await startServer()
  const folder = makeClientFolder(one, { other: two })
  const home = openHome()
  Object.assign(home.env, { PATH: `${folder}:${process.env['PATH']}` })
  const onBoth = ['--host', 'box,other', '--jobs', '2', '--array']

  test.after(async () => {
    await home.close()
    await one.close()
    await two.close()
  })

  test('the tasks are shared by the hosts, and each ends as it did', async () => {
    const command = 'echo "task $NACRE_TASK"; sleep 0.2; exit $((NACRE_TASK % 3))'
    const result = await home.json([...onBoth, '8', '-c', command])
    const { ends } = result['tasks'] as { ends: { end: string; tasks: string }[] }
    assert.equal(Object.fromEntries(ends.map(({ end, tasks }) => [end, tasks])), {
      'exit 0': '3,6',
      'exit 1': '1,4,7',
      'exit 2': '2,5,8',
    })
    const tasks = (await home.run(['job', 'tasks', String(result['id'])])).stdout.toString()
    for (const host of ['box', 'other']) assert.match(tasks, new RegExp(`  ${host} *\n`), tasks)
  })

  test('a kill of its holder leaves nothing on the hosts', async () => {
    const [program = '', ...words] = cliCommand()
    const command = '[ "$NACRE_TASK" = 1 ] || sleep 7493'
    const given = [
      ...onBoth,
      '9',
      '--env',
      `MINE=${markOf(7493)}`,
      '--output-format',
      'stream-json',
    ]
    const child = spawn(program, [...words, ...given, '-c', command], {
      env: { ...process.env, ...home.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let told = ''
    child.stdout.on('data', (bytes: Buffer) => (told += bytes.toString()))
    const there = () => findMarked('MINE', markOf(7493)).length
    await until(() => told.includes('"type":"task"') && there() > 3)
    const gone = hear(child, 'exit')
    process.kill(await findHolder(home.env['XDG_STATE_HOME'] ?? ''), 'SIGKILL')
    await gone
    await until(() => there() === 0)
    const { id } = JSON.parse(told.split('\n')[0] ?? '') as { id: string }
    const shown = await home.json(['job', 'show', id])
    assert.is((shown['tasks'] as Record<string, unknown>)['left'], '2-9')
  })
}

test.run()
