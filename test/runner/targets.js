import { dirname, join } from 'node:path'
import { ensureTool } from '../../.ci/tools/install.js'
import { root } from './program.js'

/**
 * @typedef {object} Target what the tests run on
 * @property {string} name
 * @property {string} node the Node that runs the test files
 * @property {readonly string[]} smoke the words behind test/smoke.js, which that Node runs
 * @property {NodeJS.ProcessEnv} env what it adds to their environment
 * @property {(file: string) => boolean} tells whether a test file can tell it from this Node
 * @property {boolean} isWhole whether the whole suite runs on it, and the checks of the source
 * @property {readonly string[]} scripts of package.json that must have been run before
 */

/**
 * What can differ between two runtimes: the start, descriptors, signals, terminals, sockets. These files drive the
 * command line of nacre, so that they serve each of its forms.
 */
const ofCommandLine =
  /^test\/(?:cli\/(?:as-a-shell|disk|full-disk|own-output|supervise)|repl\/(?:kill|restore|screen\/emulator)|doors\/rpc\/(?:open-files|shell|slow-reader)|doors\/acp\/acp)\.test\.ts$/

/** What differs where the test itself runs on another Node: pipes, terminals, processes, the library. */
const ofLibrary =
  /^test\/(?:client|executor\/close|run\/(?:stop|pipe\/pipe-reader|pipe\/pipe-input|terminal\/pty|terminal\/terminal-output|session\/sessions-oracle)|system\/process\/spawn)\.test\.ts$/

/**
 * What `--on` admits.
 *
 * @type {Readonly<Record<string, () => Promise<Target>>>}
 */
export const targets = {
  /** This Node, or the command line that `NACRE_TEST_CLI` gives (helpers/cli.ts). */
  async here() {
    const { NACRE_TEST_CLI: given } = process.env
    const isWhole = given === undefined
    const tells = isWhole ? () => true : (/** @type {string} */ file) => ofCommandLine.test(file)
    const smoke = isWhole ? [] : JSON.parse(given)
    return { name: 'here', node: process.execPath, smoke, env: {}, tells, isWhole, scripts: [] }
  },
  /** The test files themselves run under Node 24, and start nacre under it. */
  async node24() {
    const node = await ensureTool('node24')
    const PATH = `${dirname(node)}:${process.env['PATH']}`
    const tells = (/** @type {string} */ file) => ofCommandLine.test(file) || ofLibrary.test(file)
    const env = { PATH, NACRE_TEST_RUNTIME: 'node24' }
    return { name: 'node24', node, smoke: [], env, tells, isWhole: false, scripts: [] }
  },
  async executable() {
    return driving('executable', 'bun', [join(root, 'dist', 'nacre')], ['build:binary'])
  },
  async deno() {
    const entry = join(root, 'bin', 'nacre.js')
    return driving('deno', 'deno', [await ensureTool('deno'), 'run', '-q', '-A', entry])
  },
}

/**
 * This Node runs the test files, and another command line of nacre is what they start.
 *
 * @param {string} name
 * @param {'bun' | 'deno'} runtime for what no program can do about it (helpers/cli.ts)
 * @param {string[]} command
 * @param {readonly string[]} [scripts]
 * @returns {Target}
 */
function driving(name, runtime, command, scripts = []) {
  const env = { NACRE_TEST_CLI: JSON.stringify(command), NACRE_TEST_RUNTIME: runtime }
  const tells = (/** @type {string} */ file) => ofCommandLine.test(file)
  const smoke = command
  return { name, node: process.execPath, smoke, env, tells, isWhole: false, scripts }
}
