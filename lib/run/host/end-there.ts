import { limits } from '../../protocol/limits.ts'
import type { Survivor } from '../../protocol/result/result.ts'
import { callProgram } from './call.ts'
import type { HostClient } from './client.ts'
import { composeStopScript, type StopThere } from './stop-script.ts'

interface EndThere {
  client: HostClient
  /** What stands in the environment of all that is to end. */
  assignment: string
  /** The leader of their group, where that is known. */
  pid: number | null
  stop: StopThere
}

/** How long a host may take to answer beside what the script of a stop takes. */
const answerMs = 5000

/** Ends processes over there by a call of the client. Gives what is left; null where nobody could say. */
export async function endThere({
  client,
  assignment,
  pid,
  stop,
}: EndThere): Promise<Survivor[] | null> {
  const script = composeStopScript(assignment, pid, stop)
  const mostMs = stop.graceSeconds * 1000 + limits.killGraceMs + answerMs
  return readSurvivors((await callProgram(client.compose(script, false), { mostMs })).stdout)
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
