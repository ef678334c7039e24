import { quoteWord } from '../../../protocol/words.ts'
import { frameHead } from '../frames.ts'
import { allowCarrying, composeStop, runMark, type StopThere } from '../stop-script.ts'

/** What a run over there wrote to each stream, in bytes. */
export type Offsets = Record<'stdout' | 'stderr', number>

export interface KeptRun {
  /** Names its folder there. */
  name: string
  /** Runs the command; what it writes goes to the files of a private folder there. */
  script: string
  /** The value of `NACRE_RUN` over there. */
  mark: string
  stop: StopThere
  /** How long it may go on when nobody follows it. */
  patienceSeconds: number
}

/**
 * A script that starts a run which goes on without its connection, and follows it. Three processes stand
 * in a pipeline, in place of `&`, by which a shell has what it starts ignore INT (XCU 2.11): the run, who
 * follows it over this connection, and who ends it where nobody has followed it for too long.
 *
 * `connection` names the frame after which the bytes of the files come; it tells the folder.
 */
export function composeKeptScript(run: KeptRun, connection: string): string {
  const apart = '3<&- 4>&- 5>&-'
  return [
    ...composeConnection(connection),
    nameFolder(run.name),
    'mkdir -m 700 "$dir" || refuse "No folder can be made for what the command writes: $dir"',
    ': >"$dir/out"; : >"$dir/err"',
    `sh -c ${quoteWord(run.script)} nacre </dev/null >>"$dir/out" 2>>"$dir/err" ${apart} |`,
    `sh -c ${quoteWord(composeFollower(connection))} nacre "$dir" 0 0 |`,
    `sh -c ${quoteWord(composeFolderWatch(run))} nacre "$dir" </dev/null >/dev/null 2>&1 ${apart}`,
  ].join('\n')
}

/** A script that follows such a run over a new connection, from where the one before was cut. */
export function composeAttachScript(
  name: string,
  connection: string,
  { stdout, stderr }: Offsets,
): string {
  return [
    ...composeConnection(connection),
    nameFolder(name),
    '[ -d "$dir" ] || refuse "What it wrote is not there any more"',
    `exec sh -c ${quoteWord(composeFollower(connection))} nacre "$dir" ${stdout} ${stderr}`,
  ].join('\n')
}

/** Whoever knows the name of the run finds it, and nobody else does. */
const nameFolder = (name: string) => `dir="\${TMPDIR:-/tmp}/nacre-"${quoteWord(name)}`

/** A script that removes the folder, when all has arrived. */
export function composeForgetScript(name: string): string {
  return `${nameFolder(name)}; rm -rf "$dir"`
}

function composeConnection(connection: string): string[] {
  const head = quoteWord(frameHead(connection))
  return [
    'exec 3<&0 4>&1 5>&2',
    `refuse() { printf '%srefused %s\\n' ${head} "$1" >&4; exit 125; }`,
  ]
}

/** Its words are the folder, and how much of each file is there already. Ends with its connection. */
function composeFollower(connection: string): string {
  const head = quoteWord(frameHead(connection))
  const follow = (file: string, word: string, to: number) =>
    `tail -c +$((${word} + 1)) -f "$1/${file}" >&${to} 2>/dev/null 3<&- 4>&- 5>&- &`
  return [
    'echo "$$" >"$1/follower"',
    `printf '%sbegin %s\\n' ${head} "$1" >&4; printf '%sbegin %s\\n' ${head} "$1" >&5`,
    follow('out', '$2', 4),
    'out=$!',
    follow('err', '$3', 5),
    'err=$!',
    'read -r line <&3; kill "$out" "$err"',
  ].join('\n')
}

const lookEverySeconds = 2

function composeFolderWatch({ mark, stop, patienceSeconds }: KeptRun): string {
  const looks = Math.ceil(patienceSeconds / lookEverySeconds)
  return [
    ...composeStop(runMark(mark), allowCarrying(stop)),
    // The first look may come before who follows has told its number.
    `left=${looks + 1}`,
    'while [ -d "$1" ]; do',
    `if kill -0 "$(cat "$1/follower" 2>/dev/null)" 2>/dev/null; then left=${looks}; else left=$((left - 1)); fi`,
    '[ "$left" -gt 0 ] || { find_group; stop_run; rm -rf "$1"; }',
    `sleep ${lookEverySeconds}`,
    'done',
  ].join('\n')
}
