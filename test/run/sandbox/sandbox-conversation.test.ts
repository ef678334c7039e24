import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../../helpers/cli.ts'
import { endJobs } from '../../helpers/jobs.ts'
import { findObstacle } from '../../helpers/sandbox-places.ts'

type Bash = (command: string, changes?: object) => Promise<string>

/** Runs `use` with the tool bash of `nacre mcp` in the sandbox; the state folder lies below `root`. */
async function withBash(
  { root, cwd }: { root: string; cwd: string },
  use: (bash: Bash, client: Client) => Promise<void>,
): Promise<void> {
  const [command = '', ...words] = cliCommand()
  const transport = new StdioClientTransport({
    command,
    args: [...words, 'mcp', '--sandbox', 'workspace'],
    cwd,
    env: {
      ...(process.env as Record<string, string>),
      XDG_STATE_HOME: join(root, 'state'),
      XDG_CONFIG_HOME: join(root, 'config'),
    },
  })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  try {
    await use(async (command, changes) => {
      const given = { name: 'bash', arguments: { command, ...changes } }
      const { content } = (await client.callTool(given)) as CallToolResult
      return content[0]?.type === 'text' ? content[0].text : ''
    }, client)
  } finally {
    await client.close()
  }
}

async function withRoot(parent: string, use: (root: string) => Promise<void>): Promise<void> {
  const root = realpathSync(mkdtempSync(join(parent, 'nacre-conversation-')))
  try {
    await use(root)
  } finally {
    await endJobs(join(root, 'state'))
    rmSync(root, { recursive: true, force: true })
  }
}

const obstacle = await findObstacle()

if (obstacle === null) {
  test('/tmp was new for each call where the workspace is in /tmp', () =>
    withRoot('/tmp', async (root) => {
      const cwd = join(root, 'work')
      mkdirSync(cwd)
      await withBash({ root, cwd }, async (bash) => {
        await bash('echo kept >/tmp/nacre-out.log; mkdir /tmp/nacre-clone; echo mine >file')
        assert.match(await bash('cat /tmp/nacre-out.log; ls -d /tmp/nacre-clone'), 'kept\n/tmp/')
        assert.not(existsSync('/tmp/nacre-out.log'))
        assert.ok(existsSync(join(cwd, 'file')))
        assert.match(await bash('mkdir ../sibling || echo refused'), 'refused')
        const moved = await bash(`mv ${root} /tmp/elsewhere || ln -sfT /etc ${cwd} || echo pinned`)
        assert.match(moved, 'pinned')
      })
      await endJobs(join(root, 'state'))
      assert.equal(readdirSync(join(root, 'state/nacre/sandbox')), [])
    }))

  for (const parent of ['/var/tmp', '/tmp']) {
    test(`the kept output of a run in ${parent} was told by a path that its sandbox hid`, () =>
      withRoot(parent, async (root) => {
        const cwd = join(root, 'work')
        mkdirSync(cwd)
        const places = { root, cwd }
        let other = ''
        await withBash(places, async (bash) => {
          const session = { session: 's' }
          await bash('true', session)
          const [path = ''] = /\/\S+\.log/.exec(await bash('seq 5000')) ?? []
          other = path
          for (const changes of [{}, session]) {
            assert.match(await bash(`head -1 ${path}; tail -n 1 ${path}`, changes), '1\n5000\n')
          }
          assert.match(await bash(`echo x >>${path}`), 'Read-only file system')
          const job = await bash('echo begun; exec sleep 100', { mode: 'background' })
          const [file = ''] = /\/\S+\.log/.exec(job) ?? []
          assert.match(await bash(`until grep begun ${file}; do sleep 0.01; done`), 'begun')
        })
        await withBash(places, async (bash) => {
          assert.match(await bash('seq 5000'), '.log')
          assert.match(await bash(`cat ${other}; ls ${root}/state/nacre`), 'No such file')
          assert.not.match(await bash(`ls ${root}/state/nacre/artifacts`), other.slice(-20))
        })
      }))
  }

  test('what a call left running ended in silence', () =>
    withRoot('/var/tmp', async (root) => {
      const places = { root, cwd: root }
      await withBash(places, async (bash, client) => {
        // Until nohup has run, the end of its terminal ends it too.
        const begun = 'until [[ $(cat /proc/$!/comm) == sleep ]]; do sleep 0.01; done'
        const server = `nohup setsid sleep 1234 >/dev/null 2>&1 & ${begun}; echo started`
        assert.match(await bash(server), 'ended with the sandbox of this run: sleep 1234.')
        assert.match(await bash(server, { pty: true }), 'with the sandbox of this run: sleep 1234.')
        assert.not.match(await bash('seq 3 | tee >(cat >/dev/null)'), 'background')
        const { description } = (await client.listTools()).tools[0]!
        assert.match(description ?? '', '/tmp is private')
        assert.match(description ?? '', 'ends with the call')
      })
    }))
}

test.run()
