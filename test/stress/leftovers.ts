import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findOwnGroup } from '../../lib/system/process/own-process.ts'

/**
 * What a nacre that has ended should not have left of itself but has, below the home of a user with the
 * folders `tmp` and `state`: temporary files, what tells that it lives, control groups, files that nobody
 * can read, files of its own outside of its folders.
 */
export function findLeftovers(pid: number, home: string): string[] {
  const state = join(home, 'state', 'nacre')
  return [
    // fish keeps a folder of its own there.
    ...list(join(home, 'tmp'))
      .filter((name) => !name.startsWith('fish.'))
      .map((name) => `temporary file ${name}`),
    ...list(join(state, 'present')).map((name) => `presence ${name}`),
    ...list(join(state, 'sandbox')).map((name) => `sandbox ${name}`),
    ...list(findOwnGroup() ?? '')
      .filter((name) => name.startsWith(`nacre-${pid}-`))
      .map((name) => `control group ${name}`),
    ...list(home)
      .filter((name) => name.includes('nacre'))
      .map((name) => `file ${name}`),
    ...[join(state, 'jobs'), join(state, 'jobs', 'ended')].flatMap(findDamaged),
    ...findDamagedLines(join(state, 'audit.jsonl')),
  ]
}

function findDamaged(folder: string): string[] {
  const files = list(folder).filter((name) => name.endsWith('.json'))
  return files.flatMap((name) => {
    try {
      JSON.parse(readFileSync(join(folder, name), 'utf8'))
    } catch (error) {
      if (existsSync(join(folder, name))) return [`damaged ${name}: ${String(error)}`]
    }
    return []
  })
}

function findDamagedLines(path: string): string[] {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
  return lines.flatMap((text) => {
    try {
      if (text !== '') JSON.parse(text)
      return []
    } catch {
      return [`damaged line of ${path}: ${text}`]
    }
  })
}

/** Empty where there is no such folder. */
function list(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : []
}
