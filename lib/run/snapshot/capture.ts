import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProcess, type StartedProcess } from '../../system/process/spawn.ts'
import { removeTemporaryFolder } from '../../system/temporary-folder.ts'
import { createId } from '../../protocol/ids.ts'
import { stopTree } from '../stop.ts'
import type { StartFiles } from './start-files.ts'
import { ifThere } from '../../system/look.ts'
import { markVariable } from '../../system/process/run-variables.ts'

/** What a shell says of itself after a person's start files. */
export interface CapturedParts {
  /** The definition of each, as the shell itself reads it back. */
  functions: ReadonlyMap<string, string>
  aliases: ReadonlyMap<string, string>
  /** The value of each exported variable. */
  exports: ReadonlyMap<string, string>
  /** As the shell lists them. */
  optionsBefore: string
  optionsAfter: string
  /** The part that has to be read before the functions. */
  prelude: string
  /** The shell has met a fault of syntax, and has read nothing behind it. */
  hasSyntaxFault: boolean
}

export type Capture = { kind: 'captured'; parts: CapturedParts } | { kind: 'failed'; why: string }

export interface CaptureOptions {
  /** The shell's program. */
  file: string
  name: string
  startFiles: StartFiles
  startFile: string
  /** The environment in which it is run. */
  env: Readonly<Record<string, string>>
  /** An empty folder for this capture alone is made in here, and removed. */
  directory: string
  timeoutMs: number
}

/** Runs the start files in an interactive shell without a terminal, and ends all that they started. */
export async function captureSetUp(options: CaptureOptions): Promise<Capture> {
  const folder = mkdtempSync(join(options.directory, 'capture-'))
  const out = join(folder, 'out')
  const wrapper = join(folder, 'rc')
  const mark = createId('snapshot')
  const { file, name, startFiles, startFile, timeoutMs } = options
  const { args, wrapperText } = startFiles.compose({ startFile, wrapper, out })
  try {
    if (wrapperText !== undefined) writeFileSync(wrapper, wrapperText, { mode: 0o600 })
    const { HISTFILE: _, BASH_ENV: __, ...env } = options.env
    const child = await startProcess({
      file,
      args,
      argv0: name,
      cwd: folder,
      env: { ...env, [markVariable]: mark },
      // What it asks gets no answer, what it prints is not ours to show.
      stdio: ['ignore', 'ignore', 'ignore'],
      detached: true,
    })
    const how = await awaitEnd(child, timeoutMs)
    await stopTree({ pid: child.pid, mark }, { graceMs: 200 })
    // What a stop woke up has seen its commands fail.
    const parts = how.late ? null : readParts(out)
    return parts ? { kind: 'captured', parts } : { kind: 'failed', why: how.text }
  } finally {
    removeTemporaryFolder(folder)
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

/** Gives null where the shell has not told everything. */
function readParts(path: string): CapturedParts | null {
  const fields = ifThere(() => readFileSync(path, 'utf8'))?.split('\0')
  if (fields?.pop() !== 'end') return null
  const found = { f: new Map<string, string>(), a: new Map(), e: new Map() }
  const options = { b: '', o: '', p: '' }
  let hasSyntaxFault = false
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [kind = '', name = '', value = ''] = fields.slice(at, at + 3)
    if (kind === 'f' || kind === 'a' || kind === 'e') found[kind].set(name, value)
    else if (kind === 'b' || kind === 'o' || kind === 'p') options[kind] = value
    else if (kind === 's') hasSyntaxFault = true
  }
  return {
    functions: found.f,
    aliases: found.a,
    exports: found.e,
    optionsBefore: options.b,
    optionsAfter: options.o,
    prelude: options.p,
    hasSyntaxFault,
  }
}
