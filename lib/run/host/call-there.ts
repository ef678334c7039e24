import { spawn } from 'node:child_process'
import type { Survivor } from '../../protocol/result/result.ts'
import type { HostClient } from './client.ts'

/** How long a host may take to answer beside what its script takes. */
const marginMs = 5000

/** Runs a script of nacre's own there, to its end. Gives what it wrote; what is cut had no answer. */
export async function callThere(
  client: HostClient,
  script: string,
  scriptMs: number,
): Promise<string> {
  const { file, args } = client.compose(script, false)
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'ignore'], detached: true })
  let said = ''
  child.stdout.on('data', (bytes: Buffer) => {
    said += bytes.toString('utf8')
  })
  const over = setTimeout(() => child.kill('SIGKILL'), scriptMs + marginMs)
  await new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('close', () => resolve())
  })
  clearTimeout(over)
  return said
}

/** What is left there, of what a script of a stop has said; null where it could not say all. */
export function readSurvivors(said: string): Survivor[] | null {
  const lines = said.trimEnd().split('\n')
  if (lines.at(-1) !== 'done') return null
  return lines.slice(0, -1).flatMap((line): Survivor[] => {
    const [, number, command = '?'] = /^(\d+) (.*)$/.exec(line) ?? []
    return number === undefined ? [] : [{ pid: Number(number), command }]
  })
}
