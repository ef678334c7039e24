/** Runs one command through the shell service of gemini-cli and shows what became of it. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const services = join(
  process.env['NACRE_BENCH_PEERS'] ?? '',
  'node_modules/@google/gemini-cli-core/dist/src/services',
)
const file = join(services, 'shellExecutionService.js')
const { ShellExecutionService } = await import(pathToFileURL(file).href)
const config = {
  terminalWidth: 80,
  terminalHeight: 24,
  sanitizationConfig: {
    allowedEnvironmentVariables: [],
    blockedEnvironmentVariables: [],
    enableEnvironmentVariableRedaction: false,
  },
}
const signal = new AbortController().signal
const handle = await ShellExecutionService.execute(
  process.argv[2],
  process.cwd(),
  () => {},
  signal,
  false,
  config,
)
const result = await handle.result
console.log(result.exitCode, result.output.length)
process.exit(0)
