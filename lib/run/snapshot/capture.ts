import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProcess, type StartedProcess } from '../../system/spawn.ts'
import { codeOf } from '../../protocol/errors.ts'
import { createId } from '../../protocol/ids.ts'
import type { Launch } from '../launch.ts'
import { quoteWord } from '../../protocol/words.ts'
import { markVariable, stopTree } from '../stop.ts'

/** What bash says of itself after the user's file. */
export interface CapturedParts {
  /** As `declare -f` prints them. */
  functions: string
  /** As `alias -p` prints them. */
  aliases: string
  /** As `shopt -p; shopt -po` print them, before and after. */
  optionsBefore: string
  optionsAfter: string
  path: string
}

export type Capture = { kind: 'captured'; parts: CapturedParts } | { kind: 'failed'; why: string }

/** Runs the user's file in an interactive bash without a terminal, and ends all that it started. */
export async function captureSetUp(
  launch: Launch,
  options: { rcPath: string; directory: string; timeoutMs: number },
): Promise<Capture> {
  const folder = mkdtempSync(join(options.directory, 'capture-'))
  const outPath = join(folder, 'out')
  const wrapperPath = join(folder, 'rc')
  const mark = createId('snapshot')
  try {
    writeFileSync(wrapperPath, composeWrapper(options.rcPath, outPath), { mode: 0o600 })
    const { HISTFILE: _, BASH_ENV: __, ...env } = launch.env
    const child = await startProcess({
      file: launch.file,
      args: ['--noprofile', '--rcfile', wrapperPath, '-i'],
      argv0: launch.argv0,
      cwd: launch.cwd,
      env: { ...env, [markVariable]: mark },
      // What it asks gets no answer, what it prints is not ours to show.
      stdio: ['ignore', 'ignore', 'ignore'],
      detached: true,
    })
    const how = await awaitEnd(child, options.timeoutMs)
    await stopTree({ pid: child.pid, mark }, { graceMs: 200 })
    // What a stop woke up has seen its commands fail.
    const parts = how.late ? null : readParts(outPath)
    return parts ? { kind: 'captured', parts } : { kind: 'failed', why: how.text }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Waits for the end of the shell, not for what holds its streams. Tells how it ended. */
function awaitEnd(
  child: StartedProcess,
  timeoutMs: number,
): Promise<{ text: string; late: boolean }> {
  return new Promise((resolve) => {
    const late = { text: `it took more than ${timeoutMs / 1000} s`, late: true }
    const timer = setTimeout(() => resolve(late), timeoutMs)
    const end = (text: string) => {
      clearTimeout(timer)
      resolve({ text, late: false })
    }
    child.once('exit', (code, signal) => end(`it ended the shell (${signal ?? `status ${code}`})`))
  })
}

/**
 * The rc file of the capturing bash. `return` in the user's file ends only that file; aliases and
 * functions of it may be named like any command, so `\builtin` stands before every word of ours.
 */
function composeWrapper(rcPath: string, outPath: string): string {
  return [
    '__nacre_before="$(\\builtin shopt -p; \\builtin shopt -po)"',
    `\\builtin . ${quoteWord(rcPath)}`,
    '\\unset -f builtin',
    // Their values: before `set +e` they could end the shell here, and -u and -x disturb.
    '\\builtin set +e',
    '__nacre_after="$(\\builtin shopt -p; \\builtin shopt -po)"',
    '\\builtin set +eux',
    '{ \\builtin declare -f',
    `\\builtin printf '\\0'`,
    '\\builtin alias -p',
    `\\builtin printf '\\0%s\\0%s\\0%s\\0end' "$__nacre_before" "$__nacre_after" "$PATH"`,
    `} >${quoteWord(outPath)} 2>/dev/null`,
    // Nothing of ours into the user's history.
    '\\builtin unset HISTFILE',
    '\\builtin trap - EXIT',
    '\\builtin exit 0',
    '',
  ].join('\n')
}

function readParts(path: string): CapturedParts | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
  const [functions, aliases, optionsBefore, optionsAfter, searchPath, end] = text.split('\0')
  if (end !== 'end') return null
  return {
    functions: functions ?? '',
    aliases: aliases ?? '',
    optionsBefore: optionsBefore ?? '',
    optionsAfter: optionsAfter ?? '',
    path: searchPath ?? '',
  }
}
