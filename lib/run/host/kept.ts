import { randomBytes } from 'node:crypto'
import {
  type Exit,
  type OutputSink,
  type Running,
  StartError,
  type StopReport,
} from '../../protocol/ports.ts'
import { quoteWord } from '../../protocol/words.ts'
import { pause } from '../../system/clock.ts'
import { followRunning } from '../running.ts'
import { callProgram, type HostClient } from './client.ts'
import type { Follower } from './follower.ts'
import { createFrameReader, frameHead, type Heard } from './frames.ts'
import { allowCarrying, composeStop, endThere, runMark, type StopThere } from './stop.ts'

/** A run that goes on without its connection. */
export interface KeptRun {
  /** Names its folder there. */
  name: string
  /** Runs the command; what it writes goes to the files of a private folder there. */
  script: string
  /** The value of `NACRE_RUN` over there. */
  mark: string
  stop: StopThere
  /** How long it may go on when nobody follows it. */
  patienceSeconds?: number
}

interface KeptParts {
  /** It runs there already: it is found again, and what it wrote comes from the beginning. */
  isFound: boolean
  client: HostClient
  /** Hears of the run over there, and passes on what it writes. */
  follower: Follower
  /** Starts the client here, which runs this there and waits for its input. */
  call: (script: string, write: OutputSink['write']) => Promise<Running>
}

/** How long such a run may go on without a connection, and how often a new one is tried: for about as long. */
const usualPatienceSeconds = 15 * 60
const retryMs = { first: 500, longest: 15_000 }
const mostTries = 65
/** How long the other side may take to answer that it has removed its folder. */
const forgetMs = 5000

/**
 * Starts a run that goes on when its connection is lost: a new one finds it again, and not a byte of it
 * is missing, since what it writes lies over there until all has arrived.
 */
export async function startKept(
  run: KeptRun,
  { isFound, client, follower, call }: KeptParts,
): Promise<Running> {
  const received = { stdout: 0, stderr: 0 }
  /** It has begun there, so that there is something to come back to. */
  let isThere = isFound
  if (isFound) follower.state.begun = true
  /** Why there is nothing to come back to. */
  let gone: string | null = null
  let hasEnded = false
  void follower.ended.then(() => (hasEnded = true))
  /** Aborts when it is stopped. */
  const over = new AbortController()
  /** How often a connection was tried since there was one. */
  let tries = 0
  let forgetting: Promise<unknown> | null = null

  /** A connection, whose bytes are those of the files from its beginning on. */
  async function open(compose: (connection: string) => string) {
    const connection = randomBytes(16).toString('hex')
    const isFirst = !isThere
    const begun = { stdout: false, stderr: false }
    const hear = (stream: 'stdout' | 'stderr') => (frame: Heard) => {
      if (frame.refused && isFirst) follower.tell(frame)
      else if (frame.refused) gone = frame.refused.message
      if (!frame.begun) return
      begun[stream] = true
      isThere = true
      tries = 0
    }
    const readers = {
      stdout: createFrameReader(connection, hear('stdout')),
      stderr: createFrameReader(connection, hear('stderr')),
    }
    return call(compose(connection), async (name, bytes) => {
      const stream = name === 'stderr' ? name : 'stdout'
      const own = readers[stream].read(bytes)
      // What a client says that never gets there is heard as of any run.
      if (!begun[stream]) return isFirst ? follower.write(stream, bytes) : undefined
      for (const part of own) {
        received[stream] += part.length
        await follower.write(stream, part)
      }
      if (follower.state.refused) void stop()
      return undefined
    })
  }

  const attach = (connection: string) => composeAttachScript(run.name, connection, received)
  let current = await open(isFound ? attach : (connection) => composeKeptScript(run, connection))

  async function followToEnd(): Promise<Exit> {
    for (;;) {
      const exit = await current.exited
      if (hasEnded || over.signal.aborted) {
        await forget()
        return exit
      }
      if (!isThere) {
        if (!follower.state.refused) await endUnheard()
        return exit
      }
      if (gone !== null) return { ...exit, notices: [gone] }
      if (tries === mostTries) return exit
      await pause(Math.min(retryMs.longest, retryMs.first * 2 ** tries), over.signal)
      tries++
      if (!over.signal.aborted) await tryAgain()
    }
  }

  async function tryAgain(): Promise<void> {
    try {
      await client.connect(over.signal)
      current = await open(attach)
      // A stop that came meanwhile has ended the connection before this one.
      if (over.signal.aborted) await stop()
    } catch (error) {
      if (!(error instanceof StartError)) throw error
    }
  }

  /** Has the folder over there removed by a call of its own: the connection may be cut at any moment. */
  async function forget(): Promise<void> {
    const script = `${nameFolder(run.name)}; rm -rf "$dir"`
    forgetting ??= callProgram(client.compose(script, false), { mostMs: forgetMs })
    await forgetting
  }

  /** It may have begun there although the connection was cut before that could be reported. */
  async function endUnheard(): Promise<void> {
    const assignment = runMark(run.mark)
    const left = await endThere({ client, assignment, stop: allowCarrying(run.stop) })
    if (left !== null) await forget()
  }

  /** Has the folder over there removed, and ends the client. */
  async function stop(): Promise<StopReport> {
    over.abort()
    await forget()
    return current.stop('kill')
  }

  return followRunning(() => current, { exited: followToEnd(), stop })
}

/**
 * A script that starts a run which goes on without its connection, and follows it. Three processes stand
 * in a pipeline, in place of `&`, by which a shell has what it starts ignore INT (XCU 2.11): the run, the
 * one that follows it over this connection, and the one that ends it if nobody has followed it for too long.
 *
 * `connection` names the frame after which the bytes of the files come; it holds the folder.
 */
export function composeKeptScript(run: KeptRun, connection: string): string {
  const apart = '3<&- 4>&- 5>&-'
  return [
    ...composeConnection(run.name, connection),
    'mkdir -m 700 "$dir" || refuse no_folder "No folder can be made for what the command writes: $dir"',
    ': >"$dir/out"; : >"$dir/err"',
    `sh -c ${quoteWord(run.script)} nacre </dev/null >>"$dir/out" 2>>"$dir/err" ${apart} |`,
    `sh -c ${quoteWord(composeFollower(connection))} nacre "$dir" 0 0 |`,
    `sh -c ${quoteWord(composeFolderWatch(run))} nacre "$dir" </dev/null >/dev/null 2>&1 ${apart}`,
  ].join('\n')
}

/** A script that follows such a run over a new connection, from where the one before was cut, in bytes. */
function composeAttachScript(
  name: string,
  connection: string,
  { stdout, stderr }: { stdout: number; stderr: number },
): string {
  return [
    ...composeConnection(name, connection),
    '[ -d "$dir" ] || refuse no_folder "What it wrote is not there any more"',
    `exec sh -c ${quoteWord(composeFollower(connection))} nacre "$dir" ${stdout} ${stderr}`,
  ].join('\n')
}

/** Whoever knows the name of the run finds it, and nobody else does. */
const nameFolder = (name: string) => `dir="\${TMPDIR:-/tmp}/nacre-"${quoteWord(name)}`

function composeConnection(name: string, connection: string): string[] {
  const head = quoteWord(frameHead(connection))
  return [
    'exec 3<&0 4>&1 5>&2',
    `refuse() { printf '%srefused %s\\n' ${head} "$1 $2" >&4; exit 125; }`,
    nameFolder(name),
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
  const looks = Math.ceil((patienceSeconds ?? usualPatienceSeconds) / lookEverySeconds)
  return [
    ...composeStop(quoteWord(runMark(mark)), allowCarrying(stop)),
    // The first look may come before the follower has written its number.
    `left=${looks + 1}`,
    'while [ -d "$1" ]; do',
    `if kill -0 "$(cat "$1/follower" 2>/dev/null)" 2>/dev/null; then left=${looks}; else left=$((left - 1)); fi`,
    '[ "$left" -gt 0 ] || { find_group; stop_run; rm -rf "$1"; }',
    `sleep ${lookEverySeconds}`,
    'done',
  ].join('\n')
}
