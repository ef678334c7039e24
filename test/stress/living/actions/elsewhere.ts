import { existsSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { anything, ok, run, running, say, shows, told, type } from '../checks.ts'
import { secret } from '../setting.ts'
import { type Action, loseShell, next, type World } from '../world.ts'

/** Programs that run others elsewhere: as another user, on another machine, in a sandbox. */
export const elsewhere: readonly Action[] = [
  {
    name: 'sudo',
    weight: 3,
    may: ({ mayAskSudo }) => mayAskSudo,
    async act(world) {
      const token = next(world, 'asked')
      const command = `sudo -k -u root sh -c 'id -un; read -r y; echo "got $y"'`
      type(world, command)
      await world.screen.shows('a secret is not shown')
      world.screen.type(`${secret}\r`)
      await world.screen.shows(/^root$/m)
      await running(world)
      world.screen.type(`${token}\r`)
      await shows(world, [`! ${command}`, /\[sudo\] .*: ?/, 'root', token, `got ${token}`, ok])
      assert.not.match(world.screen.all(), secret)
    },
  },
  {
    name: 'sudo that is not let in',
    weight: 1,
    may: ({ mayAskSudo }) => mayAskSudo,
    async act(world) {
      type(world, 'sudo -k id')
      await world.screen.shows('a secret is not shown')
      world.screen.type('\u0003')
      await shows(world, ['! sudo -k id', /\[sudo\] .*: ?(?:\^C)?/, anything, /✗ .*/])
    },
  },
  {
    name: 'sudo to another user',
    weight: 3,
    may: ({ mayAskSudo }) => !mayAskSudo && process.getuid?.() === 0,
    async act(world) {
      const token = next(world, 'asked')
      const command = `sudo -u nobody sh -c 'id -un; read -r y; echo "got $y"'`
      type(world, command)
      await world.screen.shows(/^nobody$/m)
      await running(world)
      world.screen.type(`${token}\r`)
      await shows(world, [`! ${command}`, 'nobody', token, `got ${token}`, ok])
    },
  },
  {
    name: 'ssh',
    weight: 2,
    may: ({ hasBox }) => hasBox,
    async act(world) {
      const token = next(world, 'there')
      const command = `ssh -F ~/client box 'echo "${token}"; exit 5'`
      await run(world, command, [token, '✗ exit 5 · <time>'])
    },
  },
  {
    name: 'a shell by ssh',
    weight: 3,
    may: ({ hasBox }) => hasBox,
    async act(world) {
      const token = next(world, 'there')
      const command = 'ssh -F ~/client -t box sh'
      type(world, command)
      await world.screen.shows(/^[#$] ?$/m)
      world.screen.type(`echo "${token} $((6 * 7))"\r`)
      await world.screen.shows(`${token} 42`)
      world.screen.type('\u0004')
      await shows(world, [`! ${command}`, `# echo "${token} $((6 * 7))"`, `${token} 42`, /# ?/, ok])
    },
  },
  {
    name: 'npm init',
    weight: 1,
    async act(world) {
      const name = next(world, 'package')
      const command = `sh -c 'mkdir ~/${name} && cd ~/${name} && npm init'`
      type(world, command)
      await world.screen.shows(/^package name: /m)
      world.screen.type('\r')
      await world.screen.shows(/^version: /m)
      world.screen.type('2.0.0\r')
      for (const asked of [
        'description',
        'entry point',
        'test command',
        'git repository',
        'keywords',
        'author',
        'license',
        'type',
      ]) {
        await world.screen.shows(new RegExp(`^${asked}:`, 'm'))
        world.screen.type('\r')
      }
      await world.screen.shows('Is this OK?')
      world.screen.type('\r')
      await shows(world, [`! ${command}`, anything, ok])
      assert.ok(existsSync(join(world.screen.home, name, 'package.json')))
    },
  },
  {
    name: '/sandbox',
    weight: 2,
    may: ({ suspended, jobs }) => suspended.length === 0 && jobs.length === 0,
    async act(world) {
      const name = next(world, 'escaped')
      await choose(world, 'workspace', 'sandbox workspace, network on')
      await run(world, `touch ~/${name}; echo tried`, [anything, 'tried', ok])
      assert.not(existsSync(join(world.screen.home, name)))
      await choose(world, 'off', 'no sandbox')
      // What a shell in a sandbox leaves of itself nobody reads outside.
      loseShell(world)
    },
  },
]

/** The next command gets a shell that says so. */
async function choose(world: World, mode: string, confinement: string): Promise<void> {
  const prompt = world.bash ? 'bash>' : '>'
  say(world, `/sandbox ${mode}\r`)
  await shows(world, [
    `${prompt} /sandbox ${mode}`,
    told(`Sandbox: ${mode}; your next command gets a new shell in it`),
  ])
  await run(world, 'true', [told(`Your shell starts anew with ${confinement}`), anything, ok])
}
