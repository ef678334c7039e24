/**
 * `npm test`: the build, the types, the lint, the format, then every test/**\/*.test.ts.
 * `npm test -- <text>…` runs only the test files whose path contains one of the texts.
 *
 * Each test file is a process of its own, in a process group, with an empty folder for temporary
 * files and fresh XDG folders. It fails by a failed test, by ending without uvu's summary, by
 * running too long, and by what it leaves behind: an open handle, a process, a temporary file.
 *
 * A test that cannot run here prints `SKIP <name>: <reason>`. The last line of the output is
 * `N passed, N failed`, with `, N skipped` where something was skipped.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'

const root = join(import.meta.dirname, '..')
const fileTimeoutMs = Number(process.env.NACRE_TEST_TIMEOUT_SECONDS ?? 120) * 1000
/** How long a file may stay alive after its summary, and its processes after the file. */
const graceMs = 5000

/**
 * @typedef {object} Outcome of one check or one test file
 * @property {string} name
 * @property {number} passed
 * @property {number} failed
 * @property {string[]} skipped names with their reasons
 * @property {string[]} faults what is wrong beside failed tests, each counted as one failure
 * @property {string} log what it printed
 * @property {number} durationMs
 */

/** Process groups to end when the run itself is ended. */
const groups = new Set()

function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

/**
 * Runs a program to its end, its output in a file so that nobody who inherits it can delay the end.
 *
 * @param {string[]} command
 * @param {string} logFile
 * @param {object} options
 * @param {NodeJS.ProcessEnv} options.env
 * @param {(log: () => string, elapsedMs: number) => string | null} options.overdue asked again and
 *   again; a text ends the program, as its reason
 * @returns {Promise<{ ended: string | null, log: string }>} `ended`: how it ended, if not by exit 0
 */
async function runProgram([program, ...args], logFile, { env, overdue }) {
  const log = openSync(logFile, 'a')
  const started = performance.now()
  const child = spawn(program, args, {
    cwd: root,
    env,
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  groups.add(child.pid)
  let reason = null
  const watch = setInterval(() => {
    reason ??= overdue(() => readFileSync(logFile, 'utf8'), performance.now() - started)
    if (reason !== null) endGroup(child.pid)
  }, 250)
  const ended = await new Promise((resolve) => {
    child.on('error', (error) => resolve(`did not start: ${error.message}`))
    child.on('exit', (code, signal) =>
      resolve(code === 0 ? null : signal === null ? `exit status ${code}` : `ended by ${signal}`),
    )
  })
  clearInterval(watch)
  groups.delete(child.pid)
  return { ended: reason ?? ended, log: readFileSync(logFile, 'utf8') }
}

/**
 * Environment of the tests: without what `npm test` adds to its own, and without the certificates,
 * which no test needs and which Node 20 reads at each start, for 40 ms.
 */
function cleanEnvironment() {
  const dropped = new Set(['FORCE_COLOR', 'INIT_CWD', 'NODE_EXTRA_CA_CERTS'])
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('npm_') && !dropped.has(name),
  )
  return Object.fromEntries(kept)
}

/** Processes that still carry the mark of a test file in their environment (Linux only). */
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
        return [] // ended meanwhile, or another user's
      }
    })
}

/** Waits for the processes a file started; ends and returns those that stay. */
async function endMarkedProcesses(mark) {
  const started = performance.now()
  let left = markedProcesses(mark)
  while (left.length > 0 && performance.now() - started < graceMs) {
    await delay(50)
    left = markedProcesses(mark)
  }
  for (const { pid } of left) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch (error) {
      if (error.code !== 'ESRCH') throw error
    }
  }
  return left
}

/** uvu's own count, the last thing a whole test file prints. */
function readSummary(log) {
  const pattern = /^ {2}Total: +(\d+)\n {2}Passed: +(\d+)\n {2}Skipped: +(\d+)\n {2}Duration: /gm
  const found = [...log.matchAll(pattern)].at(-1)
  if (found === undefined) return null
  const [total, passed, skipped] = found.slice(1).map(Number)
  return { total, passed, skipped }
}

/**
 * @param {string} file path in the project
 * @param {string} scratch an empty folder for it
 * @returns {Promise<Outcome>}
 */
async function runTestFile(file, scratch) {
  const started = performance.now()
  const folders = Object.fromEntries(
    ['tmp', 'state', 'cache', 'config', 'runtime'].map((name) => [name, join(scratch, name)]),
  )
  for (const folder of Object.values(folders)) {
    await mkdir(folder, { recursive: true, mode: 0o700 })
  }
  const mark = `NACRE_TEST_FILE=${randomBytes(8).toString('hex')}`
  // tsx keeps what it has compiled below the temporary folder: one place for all files.
  const compiled = `tsx-${process.getuid?.() ?? 'user'}`
  await symlink(join(scratch, '..', 'tsx'), join(folders.tmp, compiled))

  let summaryAtMs = null
  const { ended, log } = await runProgram(
    [process.execPath, '--import', 'tsx', file],
    join(scratch, 'log'),
    {
      env: {
        ...cleanEnvironment(),
        NACRE_TEST_FILE: mark.slice(mark.indexOf('=') + 1),
        TMPDIR: folders.tmp,
        XDG_STATE_HOME: folders.state,
        XDG_CACHE_HOME: folders.cache,
        XDG_CONFIG_HOME: folders.config,
        XDG_RUNTIME_DIR: folders.runtime,
      },
      overdue(readLog, elapsedMs) {
        if (elapsedMs > fileTimeoutMs) return `not finished after ${fileTimeoutMs / 1000} s`
        summaryAtMs ??= readSummary(readLog()) === null ? null : elapsedMs
        if (summaryAtMs === null || elapsedMs - summaryAtMs < graceMs) return null
        return `still alive ${graceMs / 1000} s after its last test: something is left open`
      },
    },
  )

  const summary = readSummary(log)
  const skipped = [...log.matchAll(/^SKIP (.+)$/gm)].map(([, text]) => text)
  const failed = summary === null ? 0 : summary.total - summary.passed
  const faults = []
  if (ended !== null && !(failed > 0 && ended === 'exit status 1')) faults.push(ended)
  if (summary === null && ended === null) faults.push('ended without a summary of its tests')
  if (summary !== null && summary.skipped > skipped.length) {
    faults.push('skips tests without a line "SKIP <name>: <reason>"')
  }
  for (const { pid, command } of await endMarkedProcesses(mark)) {
    faults.push(`left a process: ${pid} ${command}`)
  }
  for (const name of await readdir(folders.tmp)) {
    if (name !== compiled && name !== 'node-compile-cache') {
      faults.push(`left a temporary file: ${name}`)
    }
  }
  await rm(scratch, { recursive: true, force: true })
  const durationMs = performance.now() - started
  return { name: file, passed: summary?.passed ?? 0, failed, skipped, faults, log, durationMs }
}

/** One of the scripts of package.json, counted as one test. */
async function runScript(name, scratch) {
  const started = performance.now()
  const { ended, log } = await runProgram(
    ['npm', 'run', '--silent', name],
    join(scratch, `${name.replaceAll(':', '-')}.log`),
    {
      env: process.env,
      overdue: (_, elapsedMs) => (elapsedMs > fileTimeoutMs ? 'not finished in time' : null),
    },
  )
  const faults = ended === null ? [] : [ended]
  const durationMs = performance.now() - started
  return { name, passed: 1 - faults.length, failed: 0, skipped: [], faults, log, durationMs }
}

function newestChange(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs)
    .reduce((newest, time) => Math.max(newest, time), 0)
}

/** Whether dist/ was built after the last change of what it is built from. */
function isBuilt() {
  const built = join(root, 'dist', 'main.js')
  if (!existsSync(built)) return false
  const sources = ['esbuild.config.js', 'package.json'].map((name) => statSync(join(root, name)))
  const changed = Math.max(newestChange(join(root, 'lib')), ...sources.map((it) => it.mtimeMs))
  return statSync(built).mtimeMs >= changed
}

/** @param {Outcome} outcome */
function report(outcome) {
  const bad = outcome.failed + outcome.faults.length
  const good = bad === 0
  const count = `${outcome.passed} of ${outcome.passed + bad}`
  const seconds = (outcome.durationMs / 1000).toFixed(1)
  console.log(`${good ? 'ok    ' : 'FAILED'} ${outcome.name} (${count}, ${seconds} s)`)
  for (const skip of outcome.skipped) console.log(`       skipped ${skip}`)
  if (good) return
  for (const fault of outcome.faults) console.log(`       ${fault}`)
  console.log(stripVTControlCharacters(outcome.log).replaceAll(/^/gm, '  | '))
}

async function main(filters) {
  const scratch = await mkdtemp(join(tmpdir(), 'nacre-test-'))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      for (const pid of groups) endGroup(pid)
      rmSync(scratch, { recursive: true, force: true })
      console.log(`stopped by ${signal}`)
      process.exit(1)
    })
  }
  /** @type {Outcome[]} */
  const outcomes = []
  const settle = (outcome) => {
    outcomes.push(outcome)
    report(outcome)
  }
  try {
    if (!isBuilt()) settle(await runScript('build', scratch))
    if (filters.length === 0) {
      for (const name of ['types', 'lint', 'format:check']) settle(await runScript(name, scratch))
    }
    await mkdir(join(scratch, 'tsx'))
    const files = (await readdir(import.meta.dirname, { recursive: true }))
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => relative(root, join(import.meta.dirname, name)))
      .filter((name) => filters.length === 0 || filters.some((text) => name.includes(text)))
      .sort()
      .map((file, index) => ({ file, folder: join(scratch, String(index)) }))
    const work = async () => {
      for (let next = files.shift(); next !== undefined; next = files.shift()) {
        settle(await runTestFile(next.file, next.folder))
      }
    }
    await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work))
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }

  const sum = (pick) => outcomes.reduce((total, outcome) => total + pick(outcome), 0)
  const failed = sum((outcome) => outcome.failed + outcome.faults.length)
  const skipped = sum((outcome) => outcome.skipped.length)
  const passed = sum((outcome) => outcome.passed)
  console.log('')
  for (const { name, faults, failed: count } of outcomes) {
    if (faults.length + count > 0) console.log(`failed: ${name}`)
  }
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0
}

await main(process.argv.slice(2))
