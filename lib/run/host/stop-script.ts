import { quoteWord } from '../../protocol/words.ts'
import { markVariable } from '../../system/process/run-variables.ts'

/** How the processes of a run are ended over there. */
export interface StopThere {
  /** What they get, one after the other, before KILL: `INT`, `TERM`, … */
  signals: readonly string[]
  graceSeconds: number
}

/** What every process of a run has in its environment over there. */
export const runMark = (mark: string): string => `${markVariable}=${mark}`

/** A nacre that carries a command has processes of its own to end first. */
export function allowCarrying({ signals, graceSeconds }: StopThere): StopThere {
  return { signals, graceSeconds: graceSeconds + 1 }
}

/**
 * A script that ends what carries an assignment there, and the group of `pid` where that is known. It
 * prints a line `pid command` for what is left, and `done`.
 */
export function composeStopScript(assignment: string, pid: number | null, stop: StopThere): string {
  return [
    ...composeStop(assignment, stop),
    pid === null ? 'find_group' : `group=${pid}`,
    'stop_run',
    'for p in $(living); do printf "%s %s\\n" "$p" "$(ps -o args= -p "$p" 2>/dev/null || echo ?)"; done',
    'echo done',
  ].join('\n')
}

/**
 * Functions that send signals to the run's group and to every process that has this assignment, or the one that
 * a word of the script gives, in its environment, and KILL to what is left after the grace. Without /proc
 * (proc(5)) the mark cannot be read, and the group is all that is known.
 */
export function composeStop(
  assignment: string | { word: string },
  { signals, graceSeconds }: StopThere,
): string[] {
  const word = typeof assignment === 'string' ? quoteWord(assignment) : assignment.word
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
export function composeRunWatch(isLifeline: boolean, deadlineSeconds: number | undefined): string {
  return [
    "(asked= over=; trap 'asked=yes; kill -KILL $!' TERM; trap 'kill -KILL $!; exit 0' USR1",
    `trap 'trap "" TERM; kill -KILL $!; find_group; stop_run; exit 0' USR2`,
    isLifeline
      ? 'read -r line <&3 & [ -n "$asked" ] || wait $!'
      : composeNaps(deadlineSeconds ?? Infinity),
    '[ -z "$asked" ] || kill -KILL $!',
    'trap : TERM; trap over=yes USR1 USR2',
    // The command may not have begun yet.
    'while find_group; stop_run; [ -z "$over" ] && kill -0 "$$"; do sleep 1 & [ -n "$over" ] || wait $! || kill -KILL $!; done',
    `${deadlineSeconds === undefined ? '' : `[ "$naps" -ne 0 ] || exit ${atDeadline}; `}exit 0) >/dev/null 2>&1 4>&- 5>&- &`,
  ].join('\n')
}

/** Sleeps until the deadline, as long as the script is there. A nap that somebody has ended counts for nothing. */
function composeNaps(deadlineSeconds: number): string {
  const isEndless = deadlineSeconds === Infinity
  const naps = isEndless ? -1 : Math.max(1, Math.ceil(deadlineSeconds / napSeconds))
  const last = isEndless ? napSeconds : deadlineSeconds - (naps - 1) * napSeconds
  return [
    `naps=${naps} last=${Number.isInteger(last) ? last : last.toFixed(3)}`,
    // POSIX has no sleep that takes fractions.
    ...(Number.isInteger(last) ? [] : [`sleep 0.001 || last=${Math.ceil(last)}`]),
    'while [ -z "$asked" ] && [ "$naps" -ne 0 ] && kill -0 "$$"; do',
    `nap=${napSeconds}; [ "$naps" -ne 1 ] || nap=$last`,
    'sleep "$nap" & [ -z "$asked" ] && wait $! && naps=$((naps - 1))',
    'done',
  ].join('\n')
}
