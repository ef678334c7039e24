import { limits } from '../../protocol/limits.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { Survivor } from '../../protocol/result/result.ts'
import { quoteWord } from '../../protocol/words.ts'
import { markVariable } from '../../system/process/own-process.ts'
import { callProgram, type HostClient } from './client.ts'

/** How the processes of a run are ended over there. */
export interface StopThere {
  /** What they get, one after the other, before KILL: `INT`, `TERM`, … */
  signals: readonly string[]
  graceSeconds: number
}

/** How a run is stopped over there; `interrupt`: as a person's Ctrl-C does it. */
export function describeStop({ signal, killAfterMs }: Request, interrupt = false): StopThere {
  const name = signal.replace(/^SIG/, '')
  return { signals: interrupt ? ['INT', name] : [name], graceSeconds: killAfterMs / 1000 }
}

/** What every process of a run has in its environment over there. */
export const runMark = (mark: string): string => `${markVariable}=${mark}`

/** A nacre that carries a command has processes of its own to end first. */
export function allowCarrying({ signals, graceSeconds }: StopThere): StopThere {
  return { signals, graceSeconds: graceSeconds + 1 }
}

interface EndThere {
  client: HostClient
  /** What stands in the environment of all that is to end. */
  assignment: string
  /** The leader of their group, if that is known. */
  pid?: number | undefined
  stop: StopThere
}

/** How long a host may take to answer beside what the script of a stop takes. */
const answerMs = 5000

/** Ends processes over there by a call of the client. Gives what is left; null if nobody could say. */
export async function endThere({
  client,
  assignment,
  pid,
  stop,
}: EndThere): Promise<Survivor[] | null> {
  const script = [
    ...composeStop(quoteWord(assignment), stop),
    pid === undefined ? 'find_group' : `group=${pid}`,
    'stop_run',
    'for p in $(living); do printf "%s %s\\n" "$p" "$(ps -o args= -p "$p" 2>/dev/null || echo ?)"; done',
    'echo done',
  ].join('\n')
  const mostMs = stop.graceSeconds * 1000 + limits.killGraceMs + answerMs
  const { stdout } = await callProgram(client.compose(script, false), { mostMs })
  const lines = stdout.trimEnd().split('\n')
  if (lines.pop() !== 'done') return null
  return lines.flatMap((line): Survivor[] => {
    const [, number, command = '?'] = /^(\d+) (.*)$/.exec(line) ?? []
    return number === undefined ? [] : [{ pid: Number(number), command }]
  })
}

/**
 * Functions that send signals to the run's group and to every process that has in its environment the
 * assignment that a word of the script gives, and KILL to what is left after the grace. Without /proc
 * (proc(5)) the mark cannot be read, and the group is all that is known.
 */
export function composeStop(word: string, { signals, graceSeconds }: StopThere): string[] {
  const looks = Math.max(1, Math.ceil((graceSeconds / signals.length) * 10))
  const asks = signals.map((name) => `signal_run ${name}; signal_run CONT; wait_run ${looks} :`)
  return [
    `marked() { grep -l ${word} /proc/[0-9]*/environ 2>/dev/null | tr -dc '0-9\\n'; }`,
    // A zombie (Z) has ended; nobody may ever wait for it.
    'members() { if [ -r /proc/self/stat ]; then sed -n "s/^\\([0-9]*\\) (.*) [^Z] [0-9]* [0-9]* $group .*/\\1/p" /proc/[0-9]*/stat 2>/dev/null; elif kill -0 -- "-$group" 2>/dev/null; then echo "$group"; fi; }',
    'living() { { marked; members; } | sort -u; }',
    'signal_run() { kill "-$1" -- "-$group" 2>/dev/null; for p in $(living); do kill "-$1" "$p" 2>/dev/null; done; }',
    // The group that the command leads; without /proc it is looked for below this script.
    'find_group() { if [ -r /proc/self/stat ]; then group=$(for p in $(marked | sort -n); do sed -n "s/^$p (.*) . [0-9]* $p .*/$p/p" "/proc/$p/stat" 2>/dev/null; done | head -n 1); else group=$(ps -A -o pid= -o ppid= -o pgid= | awk -v top="$$" \'{ parent[$1] = $2; if ($1 == $3) leads[$1] } END { for (p in leads) { q = p; while (q in parent && q != top) q = parent[q]; if (q == top && p != top) print p } }\' | head -n 1); fi; group=${group:-none}; }',
    // By count and by clock: on a busy machine each look takes its time.
    'wait_run() { left=$1 until=$(($(date +%s) + $1 / 10 + 1)); while [ "$left" -gt 0 ] && [ -n "$(living)" ] && [ "$(date +%s)" -lt "$until" ]; do $2; sleep 0.1 2>/dev/null || sleep 1; left=$((left - 1)); done; }',
    `stop_run() { ${asks.join('; ')}; wait_run 20 'signal_run KILL'; }`,
  ]
}

/** The status of a watch that has ended the run at its deadline. */
export const atDeadline = 124
/** After so long a watch sees that its script was killed, as nobody tells it. */
const napSeconds = 5

/**
 * What ends the run beside the script, where its client or its deadline has ended, a scheduler sends TERM, or
 * the script itself was killed. USR1 dismisses it, and USR2 has it end what an ended command has left: their
 * traps do that themselves, wherever in the watch they come. Only `wait` is sure to be interrupted by a signal
 * that is trapped (XCU 2.11), and one that comes right before it finds no sleep to wait for any more.
 */
export function composeRunWatch(isLifeline: boolean, deadlineSeconds = endless): string {
  return [
    `(asked= over= rest=${deadlineSeconds}; trap 'asked=yes; kill -KILL $!' TERM; trap 'kill -KILL $!; exit 0' USR1`,
    `trap 'trap "" TERM; kill -KILL $!; find_group; stop_run; exit 0' USR2`,
    isLifeline ? 'read -r line <&3 & [ -n "$asked" ] || wait $!' : naps,
    '[ -z "$asked" ] || kill -KILL $!',
    'trap : TERM; trap over=yes USR1 USR2',
    // The command may not have begun yet.
    'while find_group; stop_run; [ -z "$over" ] && kill -0 "$$"; do sleep 1 & [ -n "$over" ] || wait $! || kill -KILL $!; done',
    `[ "$rest" -gt 0 ] || exit ${atDeadline}; exit 0) >/dev/null 2>&1 4>&- 5>&- &`,
  ].join('\n')
}

const endless = 2_000_000_000

/** Sleeps until the deadline, as long as the script is there. A nap that somebody has ended counts for nothing. */
const naps = [
  'while [ -z "$asked" ] && [ "$rest" -gt 0 ] && kill -0 "$$"; do',
  `nap=$rest; [ "$nap" -le ${napSeconds} ] || nap=${napSeconds}`,
  'sleep "$nap" & [ -z "$asked" ] && wait $! && rest=$((rest - nap))',
  'done',
].join('\n')
