/** Runs one command through pi's own bash executor and shows what became of it. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const core = join(
  process.env['NACRE_BENCH_PEERS'] ?? '',
  'node_modules/@mariozechner/pi-coding-agent/dist/core',
)
const load = (/** @type {string} */ file) => import(pathToFileURL(join(core, file)).href)
const { executeBashWithOperations } = await load('bash-executor.js')
const { createLocalBashOperations } = await load('tools/bash.js')
const result = await executeBashWithOperations(
  process.argv[2],
  process.cwd(),
  createLocalBashOperations(),
)
console.log(result.exitCode, result.output.length, result.fullOutputPath)
process.exit(0)
