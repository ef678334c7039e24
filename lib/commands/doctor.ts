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
import { answer, formatFlag } from './answer.ts'

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

function works(name: string, detail: string): Check {
  return { name, status: 'ok', detail, advice: null }
}

function missing(name: string, detail: string, advice: string): Check {
  return { name, status: 'missing', detail, advice: causeOf(detail) ?? advice }
}

function broken(name: string, detail: string, advice: string): Check {
  return { ...missing(name, detail, advice), status: 'broken' }
}

/** What to do about a failure of the system that has its own cause, whatever was tried. */
function causeOf(failure: string): string | null {
  const known = Object.keys(causes).find((code) => failure.includes(code))
  return known === undefined ? null : (causes[known] ?? null)
}

const causes: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full (or out of inodes): free some of it, or name a folder on another disk.',
  EDQUOT: 'Your quota on that disk is used up: free some of it, or name a folder on another disk.',
  EROFS: 'That file system is read-only: name a folder on one that can be written.',
  EMFILE: 'Too many files are open: raise `ulimit -n`.',
  ENFILE: 'Too many files are open on this machine.',
  EAGAIN: 'No more processes can be started: look at `ulimit -u` and what runs here.',
}

function renderCheck({ name, status, detail, advice }: Check): string {
  const line = `${status.padEnd(8)} ${name.padEnd(16)} ${detail}\n`
  return advice === null ? line : `${line}${' '.repeat(26)}${advice}\n`
}

/** Far above what any of these commands takes, so that nothing can hang here. */
const timeoutSeconds = 20

async function checkAll(context: CommandContext): Promise<Check[]> {
  const runs: Check[] = []
  const use = async (executor: Executor) => {
    const attempt = createAttempt((input) => executor.run(input))
    for (const check of [checkShell, checkTerminal, checkSandbox]) runs.push(await check(attempt))
    return 0
  }
  const configuration = await checkConfiguration(context, use)
  if (configuration.status === 'broken') await context.useExecutor(use, { configured: false })
  return [
    configuration,
    ...runs,
    checkFolder('temporary folder', tmpdir(), (why) =>
      broken('temporary folder', why, 'Set TMPDIR to a folder that you may write.'),
    ),
    checkFolder('state folder', context.stateDir, (why) => {
      const found = missing('state folder', why, 'Set XDG_STATE_HOME to a folder of yours.')
      const advice = `Commands run, but no output is kept, no job and no audit. ${found.advice}`
      return { ...found, advice }
    }),
    await checkModel(context),
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
    const found = files.length === 0 ? 'no file; the defaults hold' : files.join(', ')
    return { ...works(name, found), advice: notices.length === 0 ? null : notices.join('; ') }
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    return broken(name, error.message, 'Correct this place.')
  }
}

/** Whether a model is set. Commands run without one. */
async function checkModel({ configuration }: CommandContext): Promise<Check> {
  // A configuration that cannot be read is told by its own check.
  const { model } = await configuration().catch(() => ({ model: null }))
  if (model !== null) return works('model', model)
  const advice = 'Set `model` in the configuration, NACRE_MODEL, or --model provider/name.'
  return missing('model', 'none is configured', advice)
}

/** A full disk takes a folder still, but no bytes. */
const triedBytes = 64 * 1024

/** Whether a folder can be made and written; `refuse` takes why not. */
function checkFolder(name: string, folder: string, refuse: (why: string) => Check): Check {
  let tried: string | null = null
  try {
    if (!existsSync(folder)) makePrivateFolder(folder)
    tried = mkdtempSync(join(folder, 'nacre-doctor-'))
    writeFileSync(join(tried, 'bytes'), Buffer.alloc(triedBytes, 1))
    return works(name, folder)
  } catch (error) {
    return refuse(messageOf(error))
  } finally {
    if (tried !== null) rmSync(tried, { recursive: true, force: true })
  }
}

/** Runs a command and tells what it wrote, and why it failed if it did. */
type Attempt = (
  command: string,
  changes?: Partial<RequestInput>,
) => Promise<{ result: Result; text: string; failure: string | null }>

function createAttempt(run: (input: RequestInput) => Promise<Result>): Attempt {
  return async (command, changes) => {
    const result = await run({
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
  if (failure !== null) {
    return broken('shell', failure, 'Install bash, or correct `shell` of the configuration.')
  }
  const [bash, path = ''] = text.includes('\n') ? text.split('\n') : ['', text]
  if (bash !== '') return works('shell', `bash ${bash} (${path})`)
  const advice = 'Install bash 4.4 or newer: agents write for it, and sessions need it.'
  return missing('shell', `${path}, which is not bash`, advice)
}

/** A terminal of its own. */
async function checkTerminal(attempt: Attempt): Promise<Check> {
  const command = 'test -t 0 && test -t 1 && echo yes'
  const { result, text, failure } = await attempt(command, { pty: true })
  const isOff = result.notices.find((notice) => notice.startsWith('pty_off'))
  // A login may have written something before.
  if (text.endsWith('yes')) return works('terminal', 'a program runs on one of its own')
  const advice = isOff
    ? 'It is switched off by `pty: off` or NACRE_NO_PTY.'
    : 'Reinstall nacre for this system, so that the addon of node-pty is there.'
  return missing('terminal', isOff ?? failure ?? 'no terminal', advice)
}

/** What protects a run that asks for it; the executor refuses where nothing does. */
async function checkSandbox(attempt: Attempt): Promise<Check> {
  const { result, failure } = await attempt('true', { sandbox: 'workspace' })
  if (failure === null && result.sandbox) return works('sandbox', result.sandbox.mechanism)
  const advice = 'Runs that ask for a sandbox do not start; all others do.'
  return missing('sandbox', failure ?? 'this version has none', advice)
}
