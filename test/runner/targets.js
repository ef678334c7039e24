import { dirname, join } from 'node:path'
import { ensureTool } from '../../.ci/tools/install.js'
import { root } from './program.js'

/**
 * @typedef {object} Target what the tests run on
 * @property {string} node the Node that runs the test files
 * @property {NodeJS.ProcessEnv} env what it adds to their environment
 * @property {'all' | 'system' | 'cli'} files which test files can tell it from another: all; those
 *   that touch the system through the runtime; those that drive the command line of nacre
 * @property {readonly string[]} scripts of package.json that must have been run before
 */

/**
 * What `--on` admits.
 *
 * @type {Readonly<Record<string, () => Promise<Target>>>}
 */
export const targets = {
  /** The test files themselves run under Node 24, and start nacre under it. */
  async node24() {
    const node = await ensureTool('node24')
    const PATH = `${dirname(node)}:${process.env['PATH']}`
    return { node, env: { PATH }, files: 'system', scripts: [] }
  },
  async executable() {
    return driving('bun', [join(root, 'dist', 'nacre')], ['build:binary'])
  },
  async deno() {
    const entry = join(root, 'bin', 'nacre.js')
    return driving('deno', [await ensureTool('deno'), 'run', '-q', '-A', entry])
  },
}

/** @returns {Target} this Node, or the command line that `NACRE_TEST_CLI` gives (helpers/cli.ts) */
export function ownTarget() {
  const files = process.env['NACRE_TEST_CLI'] === undefined ? 'all' : 'cli'
  return { node: process.execPath, env: {}, files, scripts: [] }
}

/**
 * This Node runs the test files, and another command line of nacre is what they start.
 *
 * @param {'bun' | 'deno'} runtime for what no program can do about it (helpers/cli.ts)
 * @param {string[]} command
 * @param {readonly string[]} [scripts]
 * @returns {Target}
 */
function driving(runtime, command, scripts = []) {
  const env = { NACRE_TEST_CLI: JSON.stringify(command), NACRE_TEST_RUNTIME: runtime }
  return { node: process.execPath, env, files: 'cli', scripts }
}
