import { accessSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf, MisuseError } from '../../protocol/errors.ts'
import type { CommandContext } from '../../doors/command.ts'
import { adviseOn, type Check, works } from './check-runs.ts'
import { makePrivateFolder } from '../../system/private-files.ts'

/** Whether every file of the configuration can be read and is right. */
export async function checkConfiguration({ configuration }: CommandContext): Promise<Check> {
  const name = 'configuration'
  try {
    const { files, notices } = await configuration()
    const found = files.length === 0 ? 'no file; the defaults hold' : files.join(', ')
    return { ...works(name, found), advice: notices.length === 0 ? null : notices.join('; ') }
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    return wrongConfiguration(error.message)
  }
}

export function wrongConfiguration(detail: string): Check {
  return { name: 'configuration', status: 'broken', detail, advice: 'Correct this place.' }
}

/** Whether a model is set. Commands run without one. */
export async function checkModel({ configuration }: CommandContext): Promise<Check> {
  const model = await configuration().then(
    (found) => found.model,
    // A configuration that cannot be read is told by the check of the configuration.
    () => null,
  )
  if (model !== null) return works('model', model)
  const advice = 'Set `model` in the configuration, NACRE_MODEL, or --model provider/name.'
  return { name: 'model', status: 'missing', detail: 'none is configured', advice }
}

/** Whether the folder of artifacts, jobs and the audit can be written. */
export function checkStateFolder(stateDir: string): Check {
  try {
    makePrivateFolder(stateDir)
    tryToWrite(stateDir)
    return works('state folder', stateDir)
  } catch (error) {
    const detail = messageOf(error)
    const cause = adviseOn(detail, 'Set XDG_STATE_HOME to a folder of yours.')
    const advice = `Commands run, but no output is kept, no job and no audit. ${cause}`
    return { name: 'state folder', status: 'missing', detail, advice }
  }
}

/** Whether the folder can be written where every run has its pipes. */
export function checkTemporaryFolder(): Check {
  const name = 'temporary folder'
  const folder = tmpdir()
  try {
    tryToWrite(folder)
    return works(name, folder)
  } catch (error) {
    const detail = messageOf(error)
    const advice = adviseOn(detail, 'Set TMPDIR to a folder that you may write.')
    return { name, status: 'broken', detail, advice }
  }
}

/** A full disk takes a folder still, but no bytes. */
const triedBytes = 64 * 1024

function tryToWrite(folder: string): void {
  const tried = mkdtempSync(join(folder, 'nacre-doctor-'))
  try {
    writeFileSync(join(tried, 'bytes'), Buffer.alloc(triedBytes, 1))
  } finally {
    rmSync(tried, { recursive: true, force: true })
  }
}

/** Whether the processes of others can be looked at, as on Linux. */
export function checkProc(): Check {
  try {
    readFileSync('/proc/self/environ')
    accessSync('/proc/self/fdinfo')
    return works('/proc', 'descendants are found wherever they went')
  } catch (error) {
    return {
      name: '/proc',
      status: 'missing',
      detail: messageOf(error),
      advice: 'A stop finds the process group and its children only. Mount /proc on Linux.',
    }
  }
}
