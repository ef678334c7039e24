import type { Executor } from '../../executor/executor.ts'
import { MisuseError } from '../../protocol/errors.ts'
import { fields } from '../../protocol/request/fields.ts'
import type { Command, CommandContext } from '../../doors/command.ts'
import { answer, formatFlag } from '../answer.ts'
import {
  checkConfiguration,
  checkModel,
  checkProc,
  checkStateFolder,
  checkTemporaryFolder,
  wrongConfiguration,
} from './check-files.ts'
import {
  type Check,
  checkHost,
  checkPipes,
  checkSandbox,
  checkSessions,
  checkShell,
  checkTerminal,
  createAttempt,
} from './check-runs.ts'

export const command: Command = {
  name: 'doctor',
  usage: 'nacre doctor [--host <host>]',
  description: 'What works here: shell, terminal, sandbox, model, state folder',
  flags: [
    formatFlag,
    { name: 'host', shape: fields.host, description: 'What works on this machine instead' },
  ],
  takesNoWords: true,
  details: [
    'Each line is tried, not looked up: commands really run. Exit status: 0, or 1 where something',
    'is broken that nacre needs.',
  ],
  examples: ['nacre doctor', 'nacre doctor --output-format json', 'nacre doctor --host build'],
  async run(context) {
    const { host } = context.options
    const checks = typeof host === 'string' ? await tryHost(context, host) : await tryHere(context)
    await answer(context, { ok: isHealthy(checks), checks }, checks.map(renderCheck).join(''))
    return isHealthy(checks) ? 0 : 1
  },
}

async function tryHost(context: CommandContext, host: string): Promise<Check[]> {
  let checks: Check[] = []
  await context.useExecutor(async (executor) => {
    const place = { host, timeoutSeconds: hostTimeoutSeconds }
    checks = await checkHost(createAttempt((input) => executor.run(input), place))
    return 0
  })
  return checks
}

async function tryHere(context: CommandContext): Promise<Check[]> {
  const configuration = await checkConfiguration(context)
  const files = [
    checkProc(),
    checkTemporaryFolder(),
    checkStateFolder(context.stateDir),
    await checkModel(context),
  ]
  const { unusable, runs } = await checkRuns(context, configuration)
  return [unusable ?? configuration, ...runs, ...files]
}

/** Far above what any of these commands takes, so that nothing can hang here. */
const timeoutSeconds = 20
/** A scheduler may let a job wait for a while. */
const hostTimeoutSeconds = 60

/**
 * What can only be known by running a command. Where the executor does not take the configuration (a
 * rule of the guard), that is told, and the commands run without it.
 */
async function checkRuns(
  context: CommandContext,
  configuration: Check,
): Promise<{ unusable: Check | null; runs: Check[] }> {
  const runs: Check[] = []
  const use = async (executor: Executor) => {
    const attempt = createAttempt((input) => executor.run(input), { timeoutSeconds })
    for (const check of [checkShell, checkPipes, checkTerminal, checkSessions, checkSandbox]) {
      runs.push(await check(attempt))
    }
    return 0
  }
  try {
    await context.useExecutor(use, { configured: configuration.status === 'ok' })
    return { unusable: null, runs }
  } catch (error) {
    if (!(error instanceof MisuseError) || error.code !== 'invalid_guard_rule') throw error
    await context.useExecutor(use, { configured: false })
    return { unusable: wrongConfiguration(error.message), runs }
  }
}

function isHealthy(checks: readonly Check[]): boolean {
  return checks.every(({ status }) => status !== 'broken')
}

function renderCheck({ name, status, detail, advice }: Check): string {
  const line = `${status.padEnd(8)} ${name.padEnd(16)} ${detail}\n`
  return advice === null ? line : `${line}${' '.repeat(26)}${advice}\n`
}
