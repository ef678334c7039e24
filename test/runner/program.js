import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '..', '..')

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

/**
 * @param {unknown} error
 * @param {string} code
 * @returns {boolean} whether the system answered with this code
 */
function hasCode(error, code) {
  return error instanceof Error && 'code' in error && error.code === code
}

/** The process groups of what runs now, to be ended when the run itself is ended. */
export class Groups {
  /** @type {Set<number>} */
  #leaders = new Set()

  /** @param {number} pid */
  add(pid) {
    this.#leaders.add(pid)
  }

  /** @param {number} pid */
  delete(pid) {
    this.#leaders.delete(pid)
  }

  endAll() {
    for (const pid of this.#leaders) kill(-pid)
  }
}

/**
 * Kills what may have ended already.
 *
 * @param {number} pid of a process; the negative of a group's
 */
export function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error
  }
}

/**
 * Runs a program to its end, in a process group of its own, its output in a file so that nobody who
 * inherits it can delay the end.
 *
 * @param {readonly string[]} command
 * @param {string} logFile
 * @param {object} options
 * @param {NodeJS.ProcessEnv} options.env
 * @param {Groups} options.groups
 * @param {(log: () => string, elapsedMs: number) => string | null} options.overdue asked again and
 *   again; a text ends the program, as its reason
 * @returns {Promise<{ ended: string | null, log: string }>} `ended`: how it ended, if not by exit 0
 */
export async function runProgram([program = '', ...args], logFile, { env, groups, overdue }) {
  const log = openSync(logFile, 'a')
  const started = performance.now()
  const child = spawn(program, args, {
    cwd: root,
    env,
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const { pid } = child
  if (pid !== undefined) groups.add(pid)
  /** @type {string | null} */
  let reason = null
  const watch = setInterval(() => {
    reason ??= overdue(() => readFileSync(logFile, 'utf8'), performance.now() - started)
    if (reason !== null && pid !== undefined) kill(-pid)
  }, 250)
  /** @type {string | null} */
  const ended = await new Promise((resolve) => {
    child.on('error', (error) => resolve(`did not start: ${error.message}`))
    child.on('exit', (code, signal) =>
      resolve(code === 0 ? null : signal === null ? `exit status ${code}` : `ended by ${signal}`),
    )
  })
  clearInterval(watch)
  if (pid !== undefined) groups.delete(pid)
  return { ended: reason ?? ended, log: readFileSync(logFile, 'utf8') }
}

/**
 * A program that counts as one test.
 *
 * @param {string} name
 * @param {readonly string[]} command
 * @param {{ scratch: string, groups: Groups, timeoutMs: number }} options `scratch`: a folder
 * @returns {Promise<Outcome>}
 */
export async function runCheck(name, command, { scratch, groups, timeoutMs }) {
  const started = performance.now()
  const logFile = join(scratch, `${name.replaceAll(/\W/g, '-')}.log`)
  const { ended, log } = await runProgram(command, logFile, {
    env: process.env,
    groups,
    overdue: (_, elapsedMs) => (elapsedMs > timeoutMs ? 'not finished in time' : null),
  })
  const faults = ended === null ? [] : [ended]
  const durationMs = performance.now() - started
  return { name, passed: 1 - faults.length, failed: 0, skipped: [], faults, log, durationMs }
}
