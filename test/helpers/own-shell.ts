import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import * as assert from 'uvu/assert'
import {
  createExecutor,
  type Executor,
  type Run,
  type RunOptions,
} from '../../lib/executor/executor.ts'
import type { RequestInput } from '../../lib/protocol/request/request.ts'
import type { Result } from '../../lib/protocol/result/result.ts'
import type { TerminalSession } from '../../lib/protocol/ports.ts'
import { findProgram } from '../../lib/system/look.ts'
import { findMarked } from './sessions.ts'
import { until } from './until.ts'

export type ShellName = 'bash' | 'zsh' | 'fish'

/** Those of the shells that this machine has. */
export const ownShells = (['bash', 'zsh', 'fish'] as const).filter(
  (name) => findProgram(name, process.env['PATH'] ?? '') !== null,
)

/** The start file that a login shell of this name reads. */
const startFileOf: Record<ShellName, string> = {
  bash: '.bash_profile',
  zsh: '.zshrc',
  fish: '.config/fish/config.fish',
}

/** Start files as they are found. */
export const startFiles = {
  plain: '',
  slow: 'sleep 1.5\n',
  broken: 'echo "unfinished\n',
  ends: 'exit 3\n',
}

/** At its first start in a home, fish reads all manual pages in the background, for half a minute. */
export function keepFishQuiet(home: string): void {
  mkdirSync(join(home, '.local/share/fish/generated_completions'), { recursive: true })
}

/** What a login shell of this name reads first, on a terminal of a test. */
export function writeStartFile(home: string, shell: ShellName, text: string): void {
  keepFishQuiet(home)
  const file = join(home, shell === 'fish' ? 'config/fish/config.fish' : startFileOf[shell])
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, shell === 'fish' ? `set -g fish_greeting\n${text}` : text)
}

export interface OwnShellBench {
  executor: Executor
  session: TerminalSession
  /** A directory of its own, gone at the end. */
  directory: string
  home: string
  /** What the session has said, in order. */
  notices: string[]
  /** What came while no command ran. */
  other: () => string
  run: (command: string, options?: RunOptions, more?: Partial<RequestInput>) => Promise<Result>
  start: (command: string, options?: RunOptions) => Promise<StartedRun>
}

export interface StartedRun extends Pick<Run, 'result' | 'ended' | 'write' | 'stop' | 'detach'> {
  output(): string
  wrote(text: string): Promise<void>
  /** Settles when it waits to be typed to. */
  waits(): Promise<void>
}

/** Runs a test with an executor and a person's shell on a terminal, and checks that nothing is left. */
export async function withOwnShell(
  shell: ShellName,
  test: (bench: OwnShellBench) => Promise<void>,
  options: { startFile?: string; environment?: Record<string, string> } = {},
): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'nacre-test-'))
  const [directory, home, tmp] = ['work', 'home', 'tmp'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ]
  for (const folder of [directory, home, tmp]) mkdirSync(folder)
  const outerTmp = process.env['TMPDIR']
  process.env['TMPDIR'] = tmp
  const file = join(home, startFileOf[shell])
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, options.startFile ?? '')
  keepFishQuiet(home)
  const executor = createExecutor({
    cwd: directory,
    stateDir: join(root, 'state'),
    environment: {
      PATH: process.env['PATH'],
      HOME: home,
      SHELL: findProgram(shell, process.env['PATH'] ?? '') ?? '',
      TERM: 'xterm-256color',
      LANG: 'C.UTF-8',
      NACRE_TEST: root,
      ...options.environment,
    },
  })
  const base = { origin: 'repl', session: 'repl', pty: true } as const
  const notices: string[] = []
  let other = ''
  const run: OwnShellBench['run'] = (command, runOptions, more) =>
    executor.run({ ...base, command, ...more }, runOptions)
  const start: OwnShellBench['start'] = async (command, runOptions = {}) => {
    let output = ''
    const started = await executor.start(
      { ...base, command },
      {
        ...runOptions,
        onEvent(event) {
          if (event.type === 'output') output += Buffer.from(event.bytes).toString()
        },
      },
    )
    const tell = () => JSON.stringify(output)
    return {
      result: started.result,
      ended: started.ended,
      write: (data) => started.write(data),
      stop: (reason) => started.stop(reason),
      detach: () => started.detach(),
      output: () => output,
      wrote: (text) => until(() => output.includes(text), tell),
      waits: () => until(() => started.look().waitingForInput !== null, tell),
    }
  }
  try {
    const session = await executor.sessions.open({ ...base, command: ':' })
    session.listen({
      onOutput: (bytes) => void (other += Buffer.from(bytes).toString()),
      onNotice: (text) => void notices.push(text),
    })
    await test({ executor, session, directory, home, notices, other: () => other, run, start })
  } finally {
    await executor.close()
    if (outerTmp === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = outerTmp
  }
  assert.equal(findMarked(root), [], 'processes are left')
  assert.equal(readdirSync(tmp), [], 'temporary files are left')
  rmSync(root, { recursive: true, force: true })
}
