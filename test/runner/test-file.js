import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setTimeout as delay } from 'node:timers/promises'
import { kill, runProgram } from './program.js'

/** How long a file may stay alive after its summary, and its processes after the file. */
const graceMs = 5000

/**
 * Runs a test file, or several, as one process, with an empty folder for temporary files and fresh XDG
 * folders. It fails by a failed test, by ending without uvu's summary, by running too long, and by
 * what it leaves behind: an open handle, a process, a temporary file.
 *
 * @param {string} name path in the project, if it is one file
 * @param {object} options
 * @param {readonly string[]} options.paths of each file the module that holds what it imports (bundle.js)
 * @param {string} options.scratch a folder for it that is not there yet; beside it is the folder
 *   `tsx`, where the programs that it starts share what has been compiled
 * @param {import('./targets.js').Target} options.target
 * @param {import('./program.js').Groups} options.groups
 * @param {number} options.timeoutMs
 * @returns {Promise<import('./program.js').Outcome>}
 */
export async function runTestFile(name, { paths, scratch, target, groups, timeoutMs }) {
  const started = performance.now()
  const folder = (/** @type {string} */ name) => join(scratch, name)
  // Tests that run nacre as another user go through the folder of temporary files.
  await mkdir(folder('tmp'), { recursive: true, mode: 0o711 })
  for (const own of ['state', 'cache', 'config', 'runtime', 'home']) {
    await mkdir(folder(own), { mode: 0o700 })
  }
  const token = randomBytes(8).toString('hex')
  // tsx keeps what it has compiled below the temporary folder.
  const compiled = `tsx-${process.getuid?.() ?? 'user'}`
  await symlink(join(scratch, '..', 'tsx'), join(folder('tmp'), compiled))

  const module = folder('all.mjs')
  const imports = paths.map((path) => `import ${JSON.stringify(pathToFileURL(path).href)}`)
  await writeFile(module, imports.join('\n'))

  /** @type {number | null} */
  let summaryAtMs = null
  const { ended, log } = await runProgram(
    [target.node, '--enable-source-maps', module],
    folder('log'),
    {
      groups,
      env: {
        ...cleanEnvironment(),
        ...target.env,
        NACRE_TEST_FILE: token,
        TMPDIR: folder('tmp'),
        XDG_STATE_HOME: folder('state'),
        XDG_CACHE_HOME: folder('cache'),
        XDG_CONFIG_HOME: folder('config'),
        XDG_RUNTIME_DIR: folder('runtime'),
        // The start files of whoever runs the tests would reach every command of a model.
        HOME: folder('home'),
      },
      overdue(readLog, elapsedMs) {
        if (elapsedMs > timeoutMs) return `not finished after ${timeoutMs / 1000} s`
        summaryAtMs ??= readSummary(readLog()) === null ? null : elapsedMs
        if (summaryAtMs === null || elapsedMs - summaryAtMs < graceMs) return null
        return `still alive ${graceMs / 1000} s after its last test: something is left open`
      },
    },
  )

  const summary = readSummary(log)
  const skipped = [...log.matchAll(/^SKIP (.+)$/gm)].map(([, text = '']) => text)
  const failed = summary === null ? 0 : summary.total - summary.passed
  const faults = []
  if (ended !== null && !(failed > 0 && ended === 'exit status 1')) faults.push(ended)
  if (summary === null && ended === null) faults.push('ended without a summary of its tests')
  if (summary !== null && summary.skipped > skipped.length) {
    faults.push('skips tests without a line "SKIP <name>: <reason>"')
  }
  for (const { pid, command } of await endMarkedProcesses(`NACRE_TEST_FILE=${token}`)) {
    faults.push(`left a process: ${pid} ${command}`)
  }
  for (const left of await readdir(folder('tmp'))) {
    if (left !== compiled && left !== 'node-compile-cache') {
      faults.push(`left a temporary file: ${left}`)
    }
  }
  await rm(scratch, { recursive: true, force: true })
  const durationMs = performance.now() - started
  return { name, passed: summary?.passed ?? 0, failed, skipped, faults, log, durationMs }
}

/**
 * The environment without what `npm test` adds to its own. The certificates, which Node 20 reads at each
 * start for 40 ms, stand under another name for the tests that need the network.
 */
function cleanEnvironment() {
  const { NODE_EXTRA_CA_CERTS: certificates, ...environment } = process.env
  const kept = Object.entries(environment).filter(
    ([name]) => !name.startsWith('npm_') && name !== 'FORCE_COLOR' && name !== 'INIT_CWD',
  )
  return {
    ...Object.fromEntries(kept),
    ...(certificates !== undefined && { NACRE_TEST_CERTIFICATES: certificates }),
  }
}

/**
 * Finds the processes that still carry the mark of a test file in their environment (Linux only).
 *
 * @param {string} mark
 */
function markedProcesses(mark) {
  if (!existsSync('/proc/self/environ')) return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark)) return []
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim()
        return [{ pid: Number(pid), command }]
      } catch {
        return [] // It has ended meanwhile, or is another user's.
      }
    })
}

/**
 * Waits for the processes that a file started; ends and returns those that stay.
 *
 * @param {string} mark
 */
async function endMarkedProcesses(mark) {
  const started = performance.now()
  let left = markedProcesses(mark)
  while (left.length > 0 && performance.now() - started < graceMs) {
    await delay(50)
    left = markedProcesses(mark)
  }
  for (const { pid } of left) kill(pid)
  return left
}

/**
 * Reads uvu's own count, the last thing that a whole test file prints.
 *
 * @param {string} log
 */
function readSummary(log) {
  const pattern = /^ {2}Total: +(\d+)\n {2}Passed: +(\d+)\n {2}Skipped: +(\d+)\n {2}Duration: /gm
  const found = [...log.matchAll(pattern)].at(-1)
  if (found === undefined) return null
  const [, total, passed, skipped] = found
  return { total: Number(total), passed: Number(passed), skipped: Number(skipped) }
}
