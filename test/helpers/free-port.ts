import { createServer } from 'node:net'
import { codeOf } from '../../lib/protocol/errors.ts'
import { hear } from './until.ts'

/** Below what systems give to whoever asks for any port, so that nobody is given these before they are used. */
const [first, count] = [12_000, 18_000]

/** So many ports on which nobody listens. */
export async function findFreePorts(wanted: number): Promise<number[]> {
  const found = new Set<number>()
  while (found.size < wanted) {
    const port = first + Math.floor(Math.random() * count)
    if (await isFree(port)) found.add(port)
  }
  return [...found]
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  try {
    const listening = hear(probe, 'listening')
    probe.listen(port)
    await listening
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE') return false
    throw error
  }
  probe.close()
  await hear(probe, 'close')
  return true
}
