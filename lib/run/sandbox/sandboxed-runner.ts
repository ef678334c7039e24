import { rmSync } from 'node:fs'
import type { StreamName } from '../../protocol/result/event.ts'
import {
  type Exit,
  type OutputSink,
  type Runner,
  type Running,
  StartError,
  type StartFailure,
} from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import { nameSignal } from '../../system/process/process-table.ts'
import type { FifoPool } from '../pipe/fifo.ts'
import { followRunning } from '../running.ts'
import { ifSeen } from '../../system/look.ts'
import type { WorkPlaces } from './sandbox-places.ts'
import { changedMeanwhile } from './sandbox-arguments.ts'
import { readStatus } from './sandbox-folder.ts'
import type { Sandbox } from './sandbox.ts'
import { sealStdin } from './sandbox-stdin.ts'

/**
 * Something that was there when the mounts were listed (a socket to be masked) may be gone or replaced, or
 * its folder closed, when bwrap makes them a few milliseconds later; then it is listed anew.
 */
const mostTries = 10

/**
 * Runs a request with a runner whose launches the sandbox confines, and adds to what is known of the
 * run what only the sandbox can tell. Rejects with `StartError`.
 */
export async function runInSandbox(
  { sandbox, runner, pipes }: { sandbox: Sandbox; runner: Runner; pipes: FifoPool },
  asked: Request,
  sink: OutputSink,
  signal?: AbortSignal,
): Promise<Running> {
  const { use, notices } = await sandbox.decide(asked)
  const told = (exit: Exit, more: string[] = []): Exit => ({
    ...exit,
    notices: [...notices, ...(exit.notices ?? []), ...more],
  })
  if (use.degraded) {
    const running = await runner(asked, sink, signal)
    const exited = running.exited.then((exit) => told(exit))
    return { ...running, sandbox: use, exited }
  }
  const sealed = await sealStdin(asked.stdin, pipes)
  // The same, if it can be: its places are known already.
  const request: Request = sealed.stdin === asked.stdin ? asked : { ...asked, stdin: sealed.stdin }
  const statusFile = sandbox.statusFile(request.id)
  // If they cannot be found, a run that needs them does not start, and says why itself; one of a session, whose
  // shell has started before, goes on.
  const places = ifSeen(() => sandbox.findPlaces(request))
  const isFresh = request.session === null
  const endRun = places?.hostRun.run()
  /** How it was stopped, once it was. */
  let stopping: Parameters<Running['stop']> | null = null
  let attempt = await begin().catch(async (error: unknown) => {
    endRun?.()
    await sealed.release()
    throw error
  })

  /** That of the shell of a session stays, as the shell does. */
  function forgetStatus(): void {
    if (isFresh) rmSync(statusFile, { force: true })
  }

  async function begin() {
    for (let tries = 1; ; tries++) {
      const output = watchOutput(sink)
      try {
        return { running: await runner(request, output, signal), output }
      } catch (error) {
        forgetStatus()
        const isChanged = error instanceof StartError && error.failure.code === changedMeanwhile
        if (!isChanged || tries === mostTries) {
          places?.hostRun.leave(request.id)
          throw error
        }
        sandbox.forgetPlaces(request)
      }
    }
  }

  async function follow(): Promise<Exit> {
    for (let tries = 1; ; tries++) {
      const { running, output } = attempt
      const exit = await running.exited
      const mayFail = !exit.notStarted && exit.code !== 0 && stopping === null && isFresh
      const said = mayFail ? output.lastWords() : ''
      const notStarted = mayFail ? findFailure(exit, statusFile, said) : null
      forgetStatus()
      // Without a word of bwrap it may have begun.
      if (notStarted && said !== '' && tries < mostTries) {
        try {
          sandbox.forgetPlaces(request)
          attempt = await begin()
          // Whoever stopped it meanwhile has stopped what was over already.
          if (stopping) void attempt.running.stop(...stopping)
          continue
        } catch (error) {
          if (!(error instanceof StartError)) throw error
          return { ...told(exit), notStarted: error.failure }
        }
      }
      await output.release()
      places?.hostRun.leave(request.id)
      // It never came to the sandbox, whose places may not even be there.
      if (exit.notStarted) return told(exit)
      if (notStarted) return { ...told(exit), notStarted }
      // In a session it is the shell that reports how its command has ended.
      const isOfBwrap = isFresh || stopping !== null
      const ending = isOfBwrap ? restoreSignal(exit, stopping !== null) : exit
      if (places === null) return told(ending)
      const refused = output.tellsOfRefusal() && !refusal.test(request.command)
      const notices = refused ? [describeRefusal(places)] : []
      return told(ending, [...notices, ...places.hostRun.takeNotices()])
    }
  }

  return followRunning(() => attempt.running, {
    sandbox: use,
    bounds: places && { network: use.network, writable: places.writable },
    exited: follow().finally(() => {
      endRun?.()
      return sealed.release()
    }),
    stop(...how) {
      stopping = how
      return attempt.running.stop(...how)
    },
  })
}

const ownWords = Buffer.from('bwrap: ')
const mostHeld = 20
/** So much of the end of the output is looked at. */
const lookedAtBytes = 64 * 1024

/**
 * What programs print of EROFS, and of EBUSY, which rename(2) gives for what is mounted on: strerror(3), which
 * Go and Node write small, and Java in brackets. The kernel leaves no other trace of a refused write.
 */
const refusal =
  /(?:: |\] |\()(?:read-only file system|device or resource busy)|EBUSY: resource busy/i

/** The output of one try, which may begin as bwrap's own messages do: such is held back until its release. */
interface WatchedOutput extends OutputSink {
  release(): Promise<void>
  /** The last line of bwrap's own, if it could not begin. To be asked once all has been written. */
  lastWords(): string
  tellsOfRefusal(): boolean
}

function watchOutput(sink: OutputSink): WatchedOutput {
  const held: [StreamName, Uint8Array][] = []
  let passes = false
  let last: Buffer[] = []
  let lastBytes = 0
  const readLast = () => Buffer.concat(last).toString()

  function look(bytes: Uint8Array): void {
    last.push(Buffer.from(bytes))
    lastBytes += bytes.length
    if (lastBytes < 2 * lookedAtBytes) return
    last = [Buffer.concat(last).subarray(-lookedAtBytes)]
    lastBytes = lookedAtBytes
  }

  return {
    write(stream, bytes) {
      look(bytes)
      passes ||= held.length === 0 && !ownWords.equals(bytes.subarray(0, ownWords.length))
      if (passes) return sink.write(stream, bytes)
      held.push([stream, Uint8Array.from(bytes)])
      return held.length > mostHeld ? this.release() : undefined
    },
    async release() {
      passes = true
      for (const [stream, bytes] of held.splice(0)) await sink.write(stream, bytes)
    },
    lastWords: () =>
      readLast()
        .split('\n')
        .findLast((line) => line.startsWith('bwrap: ')) ?? '',
    tellsOfRefusal: () => refusal.test(readLast()),
  }
}

function describeRefusal({ writable, tmp }: WorkPlaces): string {
  const open = [...writable, `a private ${tmp}`].join(' and ')
  return `A write was refused: the sandbox lets this run write ${open}, but for what programs outside of it run or obey (.git/hooks, .git/config, .vscode, …). For settings of git use \`git -c key=value …\` and push without \`-u\`, or ask the user to run \`git config …\` or \`git remote add …\`. To let runs write more, name it in \`writable_folders\` of your configuration`
}

/** Whether bwrap could not begin the command. */
function findFailure({ code }: Exit, statusFile: string, said: string): StartFailure | null {
  if (code === null) return null
  if (readStatus(statusFile)?.exitCode !== null) return null
  const message = `The sandbox could not be set up: ${said || `bwrap ended with status ${code}`}`
  return { code: 'sandbox_failed', message }
}

/** Ends that no program chooses as its exit code: only a signal ends so. */
const signalsAlone: ReadonlySet<string> = new Set([
  ...['SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGKILL', 'SIGSEGV', 'SIGSYS'],
  ...['SIGXCPU', 'SIGXFSZ'],
])

/**
 * bwrap reports an end by a signal as 128 + its number, in its own exit code and in what it writes of the
 * run. Of a run that was stopped it is certain what that means; of another one 130 or 143 may be what the
 * command has chosen. (A shell passes the end of its last program on by ending so itself, where that
 * program has taken its place, and as an exit code where it has not: both are reported as the signal here.)
 */
function restoreSignal(exit: Exit, stopped: boolean): Exit {
  const signal = exit.code === null ? null : nameSignal(exit.code - 128)
  if (signal === null || !(stopped || signalsAlone.has(signal))) return exit
  return { ...exit, code: null, signal }
}
