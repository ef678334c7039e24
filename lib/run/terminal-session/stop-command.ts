import { limits } from '../../protocol/limits.ts'
import { nowMs, pause, settleWithin } from '../../system/clock.ts'
import type { StopReport } from '../../protocol/ports.ts'
import type { StopReason } from '../../protocol/result/result.ts'
import { type ProcessEntry, sendSignal } from '../../system/process/process-table.ts'
import { createElderSearch } from '../session/stop.ts'
import { stopTree } from '../stop.ts'
import { editorKeys } from './editor-dialect.ts'
import type { EditorShell } from './editor-shell.ts'
import { hasTerminal, interrupt } from './terminal-signals.ts'

/** How long a command may take to answer an interrupt, before it is ended. */
const interruptGraceMs: Partial<Record<StopReason, number>> = { cancel: limits.stopGraceMs }
const shortGraceMs = 100

/**
 * Ends the command that a shell runs on its terminal, and spares the shell and what earlier commands
 * left in the background. An interrupt comes first, as Ctrl-C would send it, since only that makes the
 * shell leave the rest of the command too; then TERM and KILL. A shell that does not come back is ended.
 */
export async function stopCommand(options: {
  shell: EditorShell
  mark: string
  /** nowMs() at the start of the command. */
  startedMs: number
  /** The shell has told the end of the command, or has ended. */
  ended: Promise<unknown>
  reason: StopReason
}): Promise<StopReport> {
  const { shell, mark, startedMs, reason } = options
  const over = new AbortController()
  const told = options.ended.then(() => over.abort())
  interrupt(shell.pid)
  await pause(interruptGraceMs[reason] ?? shortGraceMs, over.signal)
  // A shell starts more on the way to its prompt: it would say of it that it was ended.
  if (over.signal.aborted) await settleWithin(limits.stopGraceMs, shell.awaitPrompt())
  const findElders = createElderSearch(shell, mark, startedMs)
  const spare = (living: readonly ProcessEntry[]) => new Set([...findElders(living), shell.pid])
  const deadlineMs = nowMs() + limits.stopGraceMs
  let report: StopReport
  do {
    report = await stopTree({ pid: shell.pid, mark, group: shell.group, spare, startedMs })
    // The shell hears of what it waited for: an interrupt in that moment would meet what draws its prompt.
    await pause(50, over.signal)
    if (over.signal.aborted) break
    if (shell.waitingForInput() === 'raw' && hasTerminal(shell.pid)) {
      // It is at a prompt that says nothing: the interrupt came before what the command replaced was put back.
      void shell.type(editorKeys.tell)
    } else {
      // It has gone on to the next part of the command.
      interrupt(shell.pid)
    }
    await pause(50, over.signal)
  } while (!over.signal.aborted && nowMs() < deadlineMs)
  if (!over.signal.aborted) {
    sendSignal(shell.pid, 'SIGKILL')
    await told
  }
  return report
}
