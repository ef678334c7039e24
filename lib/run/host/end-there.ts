import { limits } from '../../protocol/limits.ts'
import type { Survivor } from '../../protocol/result/result.ts'
import { callThere, type HostClient } from './client.ts'
import { composeStopScript, type StopThere } from './stop-script.ts'

interface EndThere {
  client: HostClient
  /** What stands in the environment of all that is to end. */
  assignment: string
  /** The leader of their group, where that is known. */
  pid: number | null
  stop: StopThere
}

/** Ends processes over there by a call of the client. Gives what is left; null where nobody could say. */
export async function endThere({
  client,
  assignment,
  pid,
  stop,
}: EndThere): Promise<Survivor[] | null> {
  const script = composeStopScript(assignment, pid, stop)
  return readSurvivors(
    await callThere(client, script, stop.graceSeconds * 1000 + limits.killGraceMs),
  )
}

/** The processes that the script of a stop has found left there; null where it could not name them all. */
function readSurvivors(said: string): Survivor[] | null {
  const lines = said.trimEnd().split('\n')
  if (lines.at(-1) !== 'done') return null
  return lines.slice(0, -1).flatMap((line): Survivor[] => {
    const [, number, command = '?'] = /^(\d+) (.*)$/.exec(line) ?? []
    return number === undefined ? [] : [{ pid: Number(number), command }]
  })
}
