import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ownShells, type ShellName, withOwnShell } from './own-shell.ts'
import { findMarked } from './sessions.ts'
import { until } from './until.ts'

/** The same in the words of each shell. */
const words = {
  bash: {
    history: 'history',
    set: 'x=1',
    alias: "alias hey='echo alias'",
    define: 'f() { echo "f $1"; }',
    fail: '(exit 3)',
    read: 'read -r y; echo "got $y"',
    loop: 'while :; do :; done',
    export: 'export E=5',
    exportOdd: `export ODD=$'it\\'s "odd"; $(x)\\nüber'`,
    status: '$?',
    replace: [
      "PROMPT_COMMAND='echo hook'; PS1=x",
      'set -uo vi; unset PROMPT_COMMAND',
      'PROMPT_COMMAND=("echo hook"); PS1=x',
    ],
    odd: "set -eu -o noclobber; alias builtin='echo b' local='echo l' eval='echo e'; printf() { echo p; }",
  },
  zsh: {
    history: 'fc -l 1',
    set: 'x=1',
    alias: "alias hey='echo alias'",
    define: 'f() { echo "f $1"; }',
    fail: '(exit 3)',
    read: 'read -r y; echo "got $y"',
    loop: 'while :; do :; done',
    export: 'export E=5',
    exportOdd: `export ODD=$'it\\'s "odd"; $(x)\\nüber'`,
    status: '$?',
    replace: [
      'mine() { echo hook; }; precmd_functions=(mine); PS1=x',
      'setopt nounset; unset precmd_functions',
      'precmd_functions+=(other); other() { PS1=x; echo hook; }',
    ],
    odd:
      'emulate sh; setopt errexit nounset ksharrays ignorebraces noclobber posixidentifiers warnnestedvar nopromptpercent; ' +
      "unsetopt zle; alias builtin='echo b' local='echo l' eval='echo e'",
  },
  fish: {
    history: 'history | cat',
    set: 'set x 1',
    alias: "alias hey='echo alias'",
    define: 'function f; echo "f $argv[1]"; end',
    fail: 'sh -c "exit 3"',
    read: 'read y; echo "got $y"',
    loop: 'while true; end',
    export: 'set -gx E 5',
    exportOdd: `set -gx ODD 'it\\'s "odd"; $(x)'\\n'über'`,
    status: '$status',
    replace: [
      'function fish_prompt; echo hook; end',
      'fish_vi_key_bindings; functions -e fish_prompt',
      'functions -e (functions --handlers-type generic | string replace -r "^\\S+ " "")',
    ],
    odd: 'function count; end; function jobs; end; function math; end; function string; end',
  },
} as const

/** Of a `sh`: until the test says so. */
const awaitGo = 'until test -e ~/go; do sleep 0.05; done'

/** What holds of a session on a terminal, whichever shell the person has. */
export function testOwnShell(shell: ShellName): void {
  if (!ownShells.includes(shell))
    return console.log(`SKIP a person's ${shell}: it is not installed`)

  const test = suite(`a person's ${shell} on a terminal`)
  const say = words[shell]

  test('keeps directory, variables, functions and aliases from run to run', () =>
    withOwnShell(shell, async ({ run, directory }) => {
      mkdirSync(join(directory, 'sub'))
      const moved = await run(`${say.set}; cd sub`)
      assert.is(moved.exitCode, 0)
      await run(say.define)
      await run(say.alias)
      assert.is((await run('echo $x; pwd')).output, `1\n${directory}/sub\n`)
      assert.is((await run('f 2')).output, 'f 2\n')
      assert.is((await run('hey you')).output, 'alias you\n')
    }))

  test('has the start files read, by a login shell', () =>
    withOwnShell(shell, async ({ run }) => assert.is((await run('echo $x')).output, '1\n'), {
      startFile: `${say.set.replace('set x', 'set -g x')}\n`,
    }))

  test('tells exit statuses, of errors in the command too', () =>
    withOwnShell(shell, async ({ run }) => {
      assert.is((await run('true')).exitCode, 0)
      assert.is((await run(say.fail)).exitCode, 3)
      const wrong = await run('echo "unfinished')
      assert.ok(wrong.exitCode !== 0 && wrong.status === 'exited')
      assert.is((await run('echo there')).output, 'there\n')
    }))

  test('gives every program a terminal of the right size', () =>
    withOwnShell(shell, async ({ run, session }) => {
      session.resize({ columns: 100, rows: 30 })
      assert.is((await run('test -t 0 && test -t 1 && stty size')).output, '30 100\n')
    }))

  test('answers a program that reads', () =>
    withOwnShell(shell, async ({ start }) => {
      const reading = await start(say.read)
      await reading.waits()
      await reading.write('this\r')
      const { output } = await reading.result
      assert.match(output ?? '', /got this\n$/)
    }))

  test('ends a program, and a loop of the shell, by Ctrl-C', () =>
    withOwnShell(shell, async ({ start, run }) => {
      // A bash that is about to start a program can miss an interrupt.
      const program = `sh -c 'echo begun; exec sleep 60'; echo not`
      for (const command of [program, `echo begun; ${say.loop}`]) {
        const running = await start(command)
        await running.wrote('begun')
        await running.write('\u0003')
        const result = await running.result
        // zsh 5.9 says 2 where it interrupted itself.
        assert.ok([130, 2].includes(result.exitCode ?? 0), String(result.exitCode))
        assert.not.match(result.output ?? '', /^not/m)
      }
      assert.is((await run('echo after')).output, 'after\n')
    }))

  test('tells how every stage of a pipeline ended, and the shell sees nothing of it', () =>
    withOwnShell(shell, async ({ run, other }) => {
      const failed = await run("sh -c 'exit 3' | true")
      assert.equal([failed.exitCode, failed.pipeStatus], [0, [3, 0]])
      const last = await run("true | sh -c 'exit 4' # the last one")
      assert.equal([last.exitCode, last.pipeStatus], [4, [0, 4]])
      assert.is((await run(`echo ${say.status}`)).output, '4\n')
      if (shell !== 'fish') {
        assert.is((await run('cat <<END | cat\nwithin\nEND')).output, 'within\n')
      }
      if (shell !== 'fish') {
        await run('set -x')
        assert.not.match((await run('echo traced | cat')).output ?? '', '__nacre')
        assert.match((await run('echo once')).output ?? '', /^\+\S* echo once\nonce\n$/)
        assert.not.match(other(), '__nacre')
      }
    }))

  test('goes on with its shell where a command replaces the hooks of the prompt', () =>
    withOwnShell(shell, async ({ run, other }) => {
      await run(say.set)
      for (const replace of say.replace) {
        assert.equal([replace, (await run(`${replace}; ${say.fail}`)).exitCode], [replace, 3])
        assert.is((await run(`echo ${say.status} $x`)).output, '3 1\n', replace)
      }
      if (shell === 'fish') return
      // Two prompts had the first of the hooks, and the last of them is behind this command, too.
      const ran = other().split('hook').length
      assert.is((await run('echo $x')).output, '1\n')
      await until(() => other().split('hook').length > ran, other)
    }))

  test('keeps in its own history each line that ran, but for one with a blank ahead, and nothing of nacre', () =>
    withOwnShell(
      shell,
      async ({ run, home }) => {
        await run('echo one | cat')
        await run(' echo hidden')
        const { output } = await run(say.history)
        assert.match(output ?? '', 'echo one | cat')
        assert.not.match(output ?? '', /hidden|__nacre/)
        if (shell !== 'fish') {
          // zsh by itself writes it at its end.
          if (shell === 'zsh') await run('fc -W')
          const kept = readFileSync(join(home, 'kept'), 'utf8')
          assert.ok(kept.startsWith('echo one | cat\n'), kept)
        }
      },
      { startFile: shell === 'fish' ? '' : 'HISTFILE=~/kept SAVEHIST=10\n' },
    ))

  test('is driven the same where start files set unusual options, aliases and functions', () =>
    withOwnShell(
      shell,
      async ({ run, notices }) => {
        const { output, exitCode, pipeStatus } = await run('echo hi | cat')
        assert.equal(
          { output, exitCode, pipeStatus },
          { output: 'hi\n', exitCode: 0, pipeStatus: [0, 0] },
        )
        assert.is((await run(say.set)).exitCode, 0)
        assert.is((await run('echo $x')).output, '1\n')
        assert.equal(notices, [])
      },
      { startFile: `${say.odd}\n` },
    ))

  test('has a shell without start files where these replace it by another one', () =>
    withOwnShell(
      shell,
      async ({ run, notices }) => {
        assert.is((await run('echo hi')).output, 'hi\n')
        assert.match(notices.join('\n'), 'Your start files ended the shell')
      },
      { startFile: 'exec bash --norc\n' },
    ))

  test('suspends a program by Ctrl-Z, and goes on with it by fg', () =>
    withOwnShell(shell, async ({ start, run }) => {
      const running = await start("sh -c 'read -r line; echo heard $line'")
      await running.waits()
      await running.write('\u001A')
      assert.is((await running.result).exitCode, 128 + constants.signals.SIGTSTP)
      assert.match((await run('jobs')).output ?? '', /(suspended|[Ss]topped)/)
      const again = await start('fg')
      await again.waits()
      await again.write('this\r')
      assert.match((await again.result).output ?? '', /heard this/)
    }))

  test('goes on with what was suspended last, and gives jobs their numbers', () =>
    withOwnShell(shell, async ({ start, run, directory }) => {
      const script = '#!/bin/sh\nread -r line; echo "$1 heard $line"\n'
      writeFileSync(join(directory, 'hear'), script, { mode: 0o755 })
      for (const name of ['one', 'two', 'three']) {
        const running = await start(`./hear ${name}`)
        await running.waits()
        await running.write('\u001A')
        await running.result
      }
      const jobs = (await run('jobs')).output ?? ''
      const numbers = [...jobs.matchAll(/^\[?(\d)(?=\]|\t)/gm)].map(([, number]) => Number(number))
      assert.equal(new Set(numbers), new Set([1, 2, 3]), jobs)
      for (const name of ['three', 'two', 'one']) {
        const again = await start('fg')
        await again.waits()
        await again.write('this\r')
        assert.match((await again.result).output ?? '', `${name} heard this`)
      }
    }))

  test('runs nothing of what was stopped while the shell still starts', () =>
    withOwnShell(
      shell,
      async ({ run, session, directory, home }) => {
        const stop = new AbortController()
        const running = run('touch ran', { signal: stop.signal })
        await until(() => session.info().busy)
        stop.abort()
        const result = await running
        assert.is(result.status, 'not_started')
        assert.is(result.reason, 'cancel')
        writeFileSync(join(home, 'go'), '')
        assert.is((await run('echo up')).output, 'up\n')
        assert.not(existsSync(join(directory, 'ran')))
      },
      { startFile: `sh -c '${awaitGo}'\n` },
    ))

  test('runs nothing of what was stopped before the line editor took it', () =>
    withOwnShell(shell, async ({ run, start, session, directory }) => {
      await run('true')
      // Its prompt is there then.
      await complete(session, 'mkd')
      const pid = session.info().pid ?? 0
      process.kill(pid, 'SIGSTOP')
      const stop = new AbortController()
      const begun = await start('touch ran', { signal: stop.signal })
      await until(() => session.info().busy)
      await new Promise((resolve) => setImmediate(resolve))
      stop.abort()
      process.kill(pid, 'SIGCONT')
      const { status, reason } = await begun.result
      assert.equal([status, reason], ['not_started', 'cancel'])
      assert.is((await run('echo up')).output, 'up\n')
      assert.not(existsSync(join(directory, 'ran')))
    }))

  test('goes on without its start files where they end the shell, and says so', () =>
    withOwnShell(
      shell,
      async ({ run, notices }) => {
        assert.is((await run('echo up')).output, 'up\n')
        // In fish it ends the reading of the file only.
        if (shell !== 'fish')
          assert.match(notices.join('\n'), /start files ended the shell \(exit 3\)/)
      },
      { startFile: 'exit 3\n' },
    ))

  test('replaces a shell that a command ends', () =>
    withOwnShell(shell, async ({ run, session, notices }) => {
      await run(say.set)
      const ended = await run('exit 4')
      assert.is(ended.exitCode, 4)
      // fish has told the end of its command before it ends.
      const said = () => [...ended.notices, ...notices].join('\n')
      await until(() => said().includes('shell has ended (exit 4)'), said)
      assert.ok((await complete(session, 'mkd')).includes('mkdir'), 'the next one completes')
      assert.is((await run('echo "+$x"')).output, '+\n')
    }))

  test('a shell that replaces another one does not say again what its start files say', () =>
    withOwnShell(
      shell,
      async ({ run, other }) => {
        await run('true')
        await until(() => other().includes('welcome'), other)
        await run('exit 4')
        assert.is((await run('echo again')).output, 'again\n')
        assert.is(other().split('welcome').length, 2, other())
      },
      { startFile: 'echo welcome\n' },
    ))

  test('leaves a command to itself, and goes on in a shell with the same directory and exports', () =>
    withOwnShell(shell, async ({ run, start, session, directory }) => {
      mkdirSync(join(directory, 'sub'))
      await run(`${say.set}; cd sub; ${say.export}`)
      await run(say.exportOdd)
      const left = await start("sh -c 'echo begun; read line; echo heard $line'")
      await left.wrote('begun')
      left.detach()
      assert.is((await run('echo "$x" $E; pwd')).output, ` 5\n${directory}/sub\n`)
      const { output } = await run('env | grep -A1 ^ODD=')
      assert.is(output, `ODD=it's "odd"; $(x)\nüber\n`)
      assert.equal(await complete(session, 'cat ../s'), ['../sub/'])
      await left.write('me\r')
      const result = await left.ended
      assert.match(result.output ?? '', /heard me/)
    }))

  test('a command that is left to itself takes no background job along', () =>
    withOwnShell(shell, async ({ run, start, home }) => {
      await run(`sh -c '${awaitGo}; echo late > ~/late' &`)
      const left = await start("sh -c 'echo begun; read line'")
      await left.wrote('begun')
      left.detach()
      assert.is((await run('echo new')).output, 'new\n')
      await left.write('\r')
      await left.ended
      writeFileSync(join(home, 'go'), '')
      await until(() => existsSync(join(home, 'late')))
      await until(
        () => findMarked(dirname(home)).length === 1,
        () => findMarked(dirname(home)).join(),
      )
    }))

  test('stops a command that ignores the interrupt time and again, and keeps its shell', () =>
    withOwnShell(shell, async ({ run, start }) => {
      await run(say.set)
      // An interrupt behind the end met what draws the prompt about once in fifteen times.
      for (let stops = 0; stops < 8; stops++) {
        const running = await start(`sh -c 'trap "" INT; echo begun; sleep 60; sleep 60'`)
        await running.wrote('begun')
        const result = await running.stop('kill')
        assert.is(result.status, 'stopped')
        assert.is((await run('echo $x')).output, '1\n')
      }
    }))

  if (shell === 'bash') {
    test('a hook of the prompt that nobody may set keeps nobody waiting', () =>
      withOwnShell(
        shell,
        async ({ run, notices }) => {
          assert.is((await run('x=1; (exit 3)')).exitCode, 3)
          assert.is((await run('echo $? $x')).output, '3 1\n')
          assert.equal(notices, [])
        },
        { startFile: 'readonly PROMPT_COMMAND=:\n' },
      ))

    test('a command that is stopped after it was left has its shell say nothing of what its prompt runs', () =>
      withOwnShell(
        shell,
        async ({ run, start, home, other }) => {
          const left = await start("sh -c 'echo begun; exec sleep 60'")
          await left.wrote('begun')
          left.detach()
          assert.is((await run('echo new')).output, 'new\n')
          await left.stop('cancel')
          await until(
            () => findMarked(dirname(home)).length === 1,
            () => findMarked(dirname(home)).join(),
          )
          assert.not.match(other(), /Terminated|Hangup/)
        },
        { startFile: "PROMPT_COMMAND='sleep 0.3'\n" },
      ))
  }

  test('completes files, variables and commands as the shell would', () =>
    withOwnShell(shell, async ({ run, session, directory }) => {
      mkdirSync(join(directory, 'folder'))
      writeFileSync(join(directory, 'file one'), '')
      await run('true')
      await until(
        () => !session.info().busy,
        () => 'idle',
      )
      const files = await complete(session, 'cat f')
      assert.ok(
        files.some((text) => text.startsWith('file')),
        files.join(),
      )
      assert.ok(files.includes('folder/'), files.join())
      assert.ok((await complete(session, 'ls $HOM')).some((text) => text.includes('HOME')))
      assert.ok((await complete(session, 'mkd')).includes('mkdir'))
      const [, ...commands] = await complete(session, 'mk')
      if (shell === 'bash') assert.equal(commands, [...new Set(commands)].sort(), 'in order')
      assert.is((await run('echo still')).output, 'still\n')
    }))

  test('runs nothing that is typed at its own prompt', () =>
    withOwnShell(shell, async ({ run, session, directory }) => {
      await run('true')
      session.type('touch ran\r')
      await run(shell === 'fish' ? 'sleep 0.2' : 'sleep 0.2; :')
      session.type('touch ran\r')
      assert.is((await run('echo after')).output, 'after\n')
      assert.not(existsSync(join(directory, 'ran')))
    }))

  test('tells what a background job writes when it writes it', () =>
    withOwnShell(shell, async ({ run, session, home, other }) => {
      await run(`sh -c '${awaitGo}; echo later' &`)
      // Of what comes on the way to its prompt nobody can tell what fish draws itself.
      if (shell === 'fish') await complete(session, 'mkd')
      writeFileSync(join(home, 'go'), '')
      await until(() => other().includes('later'), other)
    }))

  test.run()
}

async function complete(
  session: { complete(line: string): Promise<string[] | null> },
  line: string,
): Promise<string[]> {
  let found: string[] | null = null
  await until(async () => (found = await session.complete(line)) !== null)
  return (found ?? []).slice(1)
}
