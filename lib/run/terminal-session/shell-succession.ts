import { setTimeout as delay } from 'node:timers/promises'
import { createDeferred } from '../../protocol/deferred.ts'
import { limits } from '../../protocol/limits.ts'
import {
  type Exit,
  StartError,
  type SessionJob,
  type TerminalSessionListener,
} from '../../protocol/ports.ts'
import type { Request, TerminalSize } from '../../protocol/request/request.ts'
import { describeProcess, sendSignal } from '../../system/process/process-table.ts'
import { settleWithin, waitUntil } from '../../system/clock.ts'
import { describeConfinement } from '../session/refusals.ts'
import { stopTree } from '../stop.ts'
import { encodeTurn } from './editor-dialect.ts'
import type { EditorShell } from './editor-shell.ts'
import { listShellJobs } from './shell-jobs.ts'
import { type ShellStartParts, type StartedShell, startShell } from './start-shell.ts'
import { sessionVariable } from '../../system/process/own-process.ts'

export interface SuccessionOptions extends ShellStartParts {
  cwd: string
  size: TerminalSize
  /** Asked at each word: who listens may change. */
  listener: () => TerminalSessionListener
  /** Whether somebody runs a command, who tells of the end of its shell himself. */
  isBusy: () => boolean
}

/** The shells of a session, one after the other: each takes the place of one that ended or was left. */
export interface ShellSuccession {
  /** Where the present shell stands, and the next one begins. */
  cwd: string
  /** Null where none has come to its prompt since the last one ended. */
  readonly held: StartedShell | null
  /** The one that takes keys, also while it starts and its start files ask something. */
  readonly present: EditorShell | null
  /** A shell at its prompt. Rejects with `StartError`. */
  awaitPrompt(request: Request): Promise<StartedShell>
  /** The shell that starts just now, or the one that is there. Rejects with `StartError`. */
  ensure(request: Request): Promise<StartedShell>
  /** Gives what is said of a shell that ended with its command; where the result is not to say it, the listener hears it. */
  tellEnd(exit: Exit, inResult: boolean): string[]
  /** Leaves the present shell to its command; the next one takes over its state. False: another is present. */
  pass(left: StartedShell, request: Request): boolean
  /** Ends a shell that was left, once what its commands have in the background has ended. */
  dismiss(left: StartedShell): void
  resize(size: TerminalSize): void
  /** The jobs that their shells would hang up. */
  listJobs(): Promise<SessionJob[]>
  /** Ends them all with everything that they started. */
  close(): Promise<void>
}

/** Between two looks at what a shell that nobody waits for still runs. */
const jobsLookMs = 500

/** How long what a shell hangs up may take to end, before nobody waits for it any more. */
const hangUpMs = 100

export function createShellSuccession(options: SuccessionOptions): ShellSuccession {
  const { listener, isBusy } = options
  let { size, cwd } = options
  let held: StartedShell | null = null
  let opening: Promise<StartedShell> | null = null
  let arising: EditorShell | null = null
  let hasGreeted = false
  let closed = false
  /** What the next shell takes over. */
  let inherited: Promise<string> = Promise.resolve('')
  const all = new Set<StartedShell>()
  /** Files of shells that have ended, being removed. */
  const closings = new Set<Promise<void>>()
  const { promise: closing, resolve: tellClosing } = createDeferred()

  function ensure(request: Request): Promise<StartedShell> {
    if (opening) return opening
    if (held?.shell.alive) {
      if (held.confinement === describeConfinement(request)) return Promise.resolve(held)
      const confinement = describeConfinement({ ...request, workspace: null })
      listener().onNotice(`Your shell starts anew with ${confinement}`)
      const left = held
      // Behind a command that has just ended, its state is written on the way to its prompt, on which hooks of
      // the person's may take any time.
      const prompted = settleWithin(limits.stopGraceMs, left.shell.awaitPrompt())
      inherited = prompted.then(() => readState(left))
      // What still writes the state would end with the shell.
      void inherited.then(() => leave(left))
    }
    held = null
    opening = openShell(request).finally(() => {
      opening = null
      arising = null
    })
    return opening
  }

  async function openShell(request: Request): Promise<StartedShell> {
    const state = await inherited
    if (closed) throw new StartError('session_closed', 'The session has been closed')
    const isFirst = !hasGreeted
    let found = await begin(request, { plain: false, state })
    // Where the system had too little for a start, the next one takes it over.
    inherited = Promise.resolve('')
    if (!(await found.shell.awaitPrompt())) {
      const how = describeEnd(await found.shell.ended)
      found = await begin(request, { plain: true, state })
      if (!(await found.shell.awaitPrompt())) {
        const message = `The shell ended before its first prompt (${describeEnd(await found.shell.ended)})`
        throw new StartError('session_failed', message)
      }
      // What start files do is told once, like their greeting.
      if (isFirst) {
        listener().onNotice(`Your start files ended the shell (${how}): this one runs without them`)
      }
    }
    if (closed) {
      await leave(found)
      throw new StartError('session_closed', 'The session has been closed')
    }
    held = found
    found.files.hide()
    watch(found)
    return found
  }

  async function begin(
    request: Request,
    how: { plain: boolean; state: string },
  ): Promise<StartedShell> {
    const isRepeated = hasGreeted
    hasGreeted = true
    const made = await startShell(options, request, {
      ...how,
      cwd,
      size: () => size,
      isRepeated,
      onOutput: (bytes, phase) => listener().onOutput(bytes, phase),
    })
    if (made.moved !== null) listener().onNotice(`${made.moved}; your shell starts in ${made.cwd}`)
    ;({ cwd } = made)
    arising = made.shell
    all.add(made)
    const gone = made.shell.ended.then(() => {
      all.delete(made)
      return made.files.close()
    })
    closings.add(gone)
    void gone.then(() => closings.delete(gone))
    return made
  }

  /** A shell that ends while nobody runs anything is told of at once, and replaced at the next need. */
  function watch(found: StartedShell): void {
    void found.shell.ended.then((exit) => {
      if (held !== found || closed) return
      held = null
      if (!isBusy()) listener().onNotice(describeLoss(exit))
    })
  }

  /** What the shell left of its state before the command that it runs; empty where it could not. */
  async function readState({ shell, files, dialect }: StartedShell): Promise<string> {
    const state = await files.readState(shell.prompt)
    if (state !== '') return state
    listener().onNotice('The new shell has the directory of the one before, and nothing else of it')
    return dialect.changeDirectory(dialect.quote(cwd))
  }

  /** What is suspended belongs to its shell, and cannot be carried to another one. */
  function tellSuspended({ shell, mark }: StartedShell, leftMark: string): void {
    const suspended = listShellJobs(shell.pid, mark).filter(
      (job) => job.isSuspended && job.mark !== leftMark,
    )
    if (suspended.length === 0) return
    const names = suspended.map(({ pid }) => `${describeProcess(pid)} (kill -CONT ${pid})`)
    listener().onNotice(
      `Still suspended, and out of reach of fg in the new shell: ${names.join(', ')}`,
    )
  }

  async function leaveWithoutJobs(found: StartedShell): Promise<void> {
    const { shell, dialect, files, mark } = found
    while (!closed && shell.alive && listShellJobs(shell.pid, mark).length > 0) {
      await Promise.race([shell.ended, closing, delay(jobsLookMs)])
    }
    // Its state, traps and all, has gone over to the next one.
    try {
      if (!closed && (await shell.awaitPrompt())) {
        files.turn(encodeTurn('', dialect.forgetEnd))
        const { ended } = shell.run(() => undefined)
        // What it starts on the way to its prompt would be hung up first, and it would say so.
        const prompted = ended.then(() => settleWithin(limits.stopGraceMs, shell.awaitPrompt()))
        await Promise.race([prompted, closing])
      }
    } catch {
      // The disk takes no more, so the shell cannot be told: it ends with its own traps.
    }
    await leave(found)
  }

  /** Ends a shell with all that it started; a person's hangs up its own jobs, as at the end of any terminal. */
  async function leave({ shell, mark, isPersons }: StartedShell): Promise<void> {
    const over = shell.close()
    await settleWithin(limits.stopGraceMs, over)
    if (isPersons) {
      if (shell.alive) sendSignal(shell.pid, 'SIGKILL')
      await over
      // What has heard the hang-up is gone in a moment; what is meant to stay, stays.
      const isEmpty = () => !shell.group?.isPopulated()
      return waitUntil(isEmpty, { everyMs: 2, mostMs: hangUpMs })
    }
    await stopTree({
      pid: shell.alive ? shell.pid : null,
      mark,
      group: shell.group,
      marks: [`${sessionVariable}=${mark}`],
      pipes: () => shell.terminals(),
    })
    await over
  }

  return {
    get cwd() {
      return cwd
    },
    set cwd(place) {
      cwd = place
    },
    get held() {
      return held
    },
    get present() {
      return held?.shell ?? arising
    },
    ensure,
    async awaitPrompt(request) {
      for (;;) {
        const found = await ensure(request)
        // One that was on its way already may be confined otherwise.
        if (found.confinement !== describeConfinement(request)) continue
        if (await found.shell.awaitPrompt()) return found
        // One that has told the end of a command may yet end on the way to its prompt.
        listener().onNotice(describeLoss(await found.shell.ended))
      }
    },
    pass(left, request) {
      if (held !== left) return false
      held = null
      inherited = readState(left)
      tellSuspended(left, request.id)
      // A start that fails is told by the first run that needs it.
      ensure(request).catch(() => undefined)
      return true
    },
    tellEnd(exit, inResult) {
      if (inResult) return [describeLoss(exit)]
      listener().onNotice(describeLoss(exit))
      return []
    },
    dismiss: (left) => void leaveWithoutJobs(left),
    resize(wanted) {
      size = wanted
      const shell = held?.shell ?? arising
      shell?.resize(wanted.columns, wanted.rows)
    },
    async listJobs() {
      const lists = [...all].map(async (found) => {
        const jobs = listShellJobs(found.shell.pid, found.mark)
        if (found !== held || isBusy() || jobs.length === 0) return jobs
        // It alone knows which of them it has disowned.
        let told = ''
        if (!(await found.shell.awaitPrompt())) return []
        found.files.turn(encodeTurn('', 'jobs -p'))
        await found.shell.run((bytes) => void (told += Buffer.from(bytes).toString('latin1'))).ended
        const groups: readonly string[] = told.match(/\d+/g) ?? []
        return jobs.filter(({ group }) => groups.includes(String(group)))
      })
      const byGroup = new Map((await Promise.all(lists)).flat().map((job) => [job.group, job]))
      return [...byGroup.values()].map(({ pid, mark, isSuspended }) => {
        return { run: mark, command: describeProcess(pid) + (isSuspended ? ' (suspended)' : '') }
      })
    },
    async close() {
      closed = true
      tellClosing()
      await Promise.all([...all].map(leave))
      await opening?.catch(() => undefined)
      await Promise.all(closings)
    },
  }
}

function describeLoss(exit: Exit): string {
  return `Your shell has ended (${describeEnd(exit)}); the next line gets a new one`
}

function describeEnd({ code, signal }: Exit): string {
  return signal ?? `exit ${code}`
}
