import { toWire } from '../../protocol/wire.ts'
import type { Command, CommandContext } from '../command.ts'
import { checkConfiguration, checkModel, checkProc, checkStateFolder } from './check-files.ts'
import { checkPipes, checkSandbox, checkSessions, checkShell, checkTerminal } from './check-runs.ts'
import type { Check } from './check.ts'

export const command: Command = {
  name: 'doctor',
  usage: 'nacre doctor',
  description: 'What works here: shell, terminal, sandbox, model, state folder',
  flags: [
    {
      name: 'output-format',
      hint: 'text|json',
      description: 'How to answer (default text)',
      type: { kind: 'choice', values: ['text', 'json'] },
    },
  ],
  details: [
    'Each line is tried, not looked up: commands really run. Exit status: 0, or 1 where something',
    'is broken that nacre needs.',
  ],
  examples: ['nacre doctor', 'nacre doctor --output-format json'],
  async run(context) {
    const configuration = await checkConfiguration(context)
    const files = [checkProc(), checkStateFolder(context.stateDir), await checkModel(context)]
    const runs = await checkRuns(context, configuration.status === 'ok')
    const checks = [configuration, ...runs, ...files]
    const { stdout } = context.streams
    await stdout.write(
      context.options['output-format'] === 'json'
        ? `${JSON.stringify(toWire({ ok: isHealthy(checks), checks }))}\n`
        : checks.map(renderCheck).join(''),
    )
    return isHealthy(checks) ? 0 : 1
  },
}

/** What can only be known by running a command. */
async function checkRuns(context: CommandContext, configured: boolean): Promise<Check[]> {
  const checks: Check[] = []
  await context.useExecutor(
    async (executor) => {
      for (const check of [checkShell, checkPipes, checkTerminal, checkSessions, checkSandbox]) {
        checks.push(await check((input) => executor.run(input)))
      }
      return 0
    },
    { configured },
  )
  return checks
}

function isHealthy(checks: readonly Check[]): boolean {
  return checks.every(({ status }) => status !== 'broken')
}

function renderCheck({ name, status, detail, advice }: Check): string {
  const line = `${status.padEnd(8)} ${name.padEnd(14)} ${detail}\n`
  return advice === null ? line : `${line}${' '.repeat(24)}${advice}\n`
}
