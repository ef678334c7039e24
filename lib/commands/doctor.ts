import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command, CommandContext } from '../doors/command.ts'
import type { Executor } from '../executor/executor.ts'
import { messageOf, MisuseError } from '../protocol/errors.ts'
import type { RequestInput } from '../protocol/request/request.ts'
import type { Result } from '../protocol/result/result.ts'
import { describeTrouble } from '../render/messages.ts'
import { makePrivateFolder } from '../system/private-files.ts'
import { answer, formatFlag } from './actions.ts'

export const command: Command = {
  name: 'doctor',
  usage: 'nacre doctor',
  description: 'What works here: shell, terminal, sandbox, model, state folder',
  flags: [formatFlag],
  takesNoWords: true,
  details: [
    'Each line is tried, not looked up: commands really run. Exit status: 0, or 1 where something',
    'is broken that nacre needs.',
  ],
  examples: ['nacre doctor', 'nacre doctor --output-format json'],
  async run(context) {
    const checks = await checkAll(context)
    const ok = checks.every(({ status }) => status !== 'broken')
    await answer(context, { ok, checks }, checks.map(renderCheck).join(''))
    return ok ? 0 : 1
  },
}

/** What was found out about one thing that nacre uses. */
interface Check {
  name: string
  /** `missing`: something does not work that nacre can do without. `broken`: it cannot. */
  status: 'ok' | 'missing' | 'broken'
  /** What there is, or why there is nothing. */
  detail: string
  /** What to do about it; null where nothing is to be done. */
  advice: string | null
}

/** `failure`: why it does not work; null where it does. */
function judge(
  name: string,
  failure: string | null,
  { status = 'missing', detail = '', advice = '' }: Partial<Check>,
): Check {
  return failure === null
    ? { name, status: 'ok', detail, advice: null }
    : { name, status, detail: failure, advice }
}

function renderCheck({ name, status, detail, advice }: Check): string {
  const line = `${status.padEnd(8)} ${name.padEnd(16)} ${detail}\n`
  return advice === null ? line : `${line}${' '.repeat(26)}${advice}\n`
}

async function checkAll(context: CommandContext): Promise<Check[]> {
  let runs: Check[] = []
  const use = async (executor: Executor) => {
    const attempt = createAttempt(executor)
    runs = [await checkShell(attempt), await checkTerminal(attempt), await checkSandbox(attempt)]
    return 0
  }
  const configuration = await checkConfiguration(context, use)
  if (configuration.status === 'broken') await context.useExecutor(use, { configured: false })
  // A configuration that cannot be read is told by its own check.
  const { model } = await context.configuration().catch(() => ({ model: null }))
  return [
    configuration,
    ...runs,
    judge('temporary folder', tryToWrite(tmpdir()), {
      status: 'broken',
      detail: tmpdir(),
      advice: 'Set TMPDIR to a folder that you may write, on a disk that is not full.',
    }),
    judge('state folder', tryToWrite(context.stateDir), {
      detail: context.stateDir,
      advice:
        'Commands run, but no output is kept, no job and no audit. Set XDG_STATE_HOME to a folder of yours, on a disk that is not full.',
    }),
    judge('model', model === null ? 'none is configured' : null, {
      detail: model ?? '',
      advice: 'Set `model` in the configuration, NACRE_MODEL, or --model provider/name.',
    }),
  ]
}

/** Whether every file of the configuration can be read and is right, its rules for the guard too. */
async function checkConfiguration(
  { configuration, useExecutor }: CommandContext,
  use: (executor: Executor) => Promise<number>,
): Promise<Check> {
  const name = 'configuration'
  try {
    const { files, notices } = await configuration()
    await useExecutor(use)
    const detail = files.length === 0 ? 'no file; the defaults hold' : files.join(', ')
    return { name, status: 'ok', detail, advice: notices.join('; ') || null }
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    return judge(name, error.message, { status: 'broken', advice: 'Correct this place.' })
  }
}

/** A full disk takes a folder still, but no bytes. */
const triedBytes = 64 * 1024

/** Why a folder cannot be made or written; null where it can. */
function tryToWrite(folder: string): string | null {
  let tried: string | null = null
  try {
    if (!existsSync(folder)) makePrivateFolder(folder)
    tried = mkdtempSync(join(folder, 'nacre-doctor-'))
    writeFileSync(join(tried, 'bytes'), Buffer.alloc(triedBytes, 1))
    return null
  } catch (error) {
    return messageOf(error)
  } finally {
    if (tried !== null) rmSync(tried, { recursive: true, force: true })
  }
}

/** Far above what any of these commands takes, so that nothing can hang here. */
const timeoutSeconds = 20

/** Runs a command and tells what it wrote, and why it failed if it did. */
type Attempt = (
  command: string,
  changes?: Partial<RequestInput>,
) => Promise<{ result: Result; text: string; failure: string | null }>

function createAttempt(executor: Executor): Attempt {
  return async (command, changes) => {
    const result = await executor.run({
      origin: 'print',
      command,
      streams: 'merged',
      pty: false,
      sandbox: 'off',
      guard: false,
      artifact: 'never',
      timeoutSeconds,
      ...changes,
    })
    const { status, exitCode, signal, output = '' } = result
    const ended = `\`${command}\` ended with ${status} ${exitCode ?? signal ?? ''}`
    const failure = exitCode === 0 ? null : (describeTrouble(result)[0] ?? ended)
    return { result, text: output.trim(), failure }
  }
}

/** The shell that agents and scripts get. */
async function checkShell(attempt: Attempt): Promise<Check> {
  const command = 'echo "${BASH_VERSION:-}"; command -v "$0" || echo "$0"'
  const { text, failure } = await attempt(command)
  const advice = 'Agents write for bash 4.4 or newer: install it, or correct `shell`.'
  if (failure !== null) return judge('shell', failure, { status: 'broken', advice })
  const [bash, path = ''] = text.includes('\n') ? text.split('\n') : ['', text]
  const other = bash === '' ? `${path}, which is not bash` : null
  return judge('shell', other, { detail: `bash ${bash} (${path})`, advice })
}

/** A terminal of its own. */
async function checkTerminal(attempt: Attempt): Promise<Check> {
  const command = 'test -t 0 && test -t 1 && echo yes'
  const { result, text, failure } = await attempt(command, { pty: true })
  const isOff = result.notices.find((notice) => notice.startsWith('pty_off'))
  // A login may have written something before.
  const isThere = text.endsWith('yes')
  return judge('terminal', isThere ? null : (isOff ?? failure ?? 'no terminal'), {
    detail: 'a program runs on one of its own',
    advice: isOff
      ? 'It is switched off by `pty: off` or NACRE_NO_PTY.'
      : 'Reinstall nacre for this system, so that the addon of node-pty is there.',
  })
}

/** What protects a run that asks for it; the executor refuses where nothing does. */
async function checkSandbox(attempt: Attempt): Promise<Check> {
  const { result, failure } = await attempt('true', { sandbox: 'workspace' })
  const none = result.sandbox ? null : 'this version has none'
  return judge('sandbox', failure ?? none, {
    detail: result.sandbox?.mechanism ?? '',
    advice: 'Runs that ask for a sandbox do not start; all others do.',
  })
}
