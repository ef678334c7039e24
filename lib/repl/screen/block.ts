import { stripVTControlCharacters } from 'node:util'
import type { Result } from '../../protocol/result/result.ts'
import { describeTrouble, formatDuration } from '../../render/messages.ts'
import { countOf, formatBytes, type Style } from './text.ts'
import type { Display } from './display.ts'
import type { Tail } from './emulator.ts'
import { splitLines } from '../../protocol/words.ts'

/** Prints the last lines of a finished run with what stands around them. `asked`: the person knows why it did not run. */
export function printBlock(
  display: Pick<Display, 'print' | 'printWhole'>,
  result: Result,
  style: Style,
  { tail, asked }: { tail: Tail; asked: boolean },
): void {
  display.print(renderMissing(result, style, tail))
  display.printWhole(joinWrapped(tail))
  display.print(renderClose(result, style, asked))
}

/** Above the last lines: how many are missing there. */
function renderMissing(result: Result, style: Style, shown: Tail): string[] {
  const total = result.truncation?.totalLines ?? outputLines(result).length
  const hidden = total - shown.count
  return hidden > 0 ? [style.dim(`… ${countOf(hidden, 'earlier line')} · v shows all`)] : []
}

/** Below them: what went wrong, where all of it is kept, how it ended. */
function renderClose(result: Result, style: Style, asked: boolean): string[] {
  const { artifact } = result
  const kept =
    artifact && result.truncation
      ? [
          style.dim(
            `${artifact.uri} · ${formatBytes(artifact.bytes)}` +
              (artifact.complete ? '' : ' · not complete'),
          ),
        ]
      : []
  return [...describeFaults(result, asked).map(style.yellow), ...kept, renderEnd(result, style)]
}

/** What went wrong, and what is still alive. `asked`: the person knows why it did not run. */
export function describeFaults(result: Result, asked: boolean): string[] {
  return [...(asked || isCancelled(result) ? [] : describeTrouble(result)), ...result.notices]
}

/** What the person has done is no trouble to be told of; a limit that was reached is. */
function isCancelled({ status, reason }: Result): boolean {
  const isTheirs = reason === 'cancel' || reason === 'kill'
  return isTheirs && (status === 'stopped' || status === 'not_started')
}

/** 128 and the number of the signal with which a terminal suspends (TSTP): Linux, macOS. */
const suspended = process.platform === 'darwin' ? 146 : 148
const interrupted = 130

/** `✓ exit 0 · 234 ms` */
export function renderEnd(result: Result, style: Style): string {
  const after = ` · ${formatDuration(result.durationMs)}`
  switch (result.status) {
    case 'exited': {
      if (result.exitCode === suspended)
        return style.yellow('… suspended') + `${after} · !fg goes on`
      const meaning = result.exitCode === interrupted ? 'interrupted' : result.exitMeaning
      const why = [meaning ?? '', describeStages(result)].filter((text) => text !== '').join('; ')
      const paint = result.exitCode === 0 ? style.green : style.red
      const mark = result.exitCode === 0 ? '✓' : '✗'
      return paint(`${mark} exit ${result.exitCode}`) + after + (why === '' ? '' : ` (${why})`)
    }
    case 'signaled':
      return style.red(`✗ ${result.signal}`) + after
    case 'stopped':
      return style.red('✗ stopped') + after
    case 'running':
      return style.yellow('… running')
    case 'not_started':
      return style.red(isCancelled(result) ? '✗ cancelled before it began' : '✗ not started')
    default:
      return style.red(result.status === 'denied' ? '✗ denied' : '✗ lost')
  }
}

/** Ended by a pipe that nobody read to its end, which is how `| head` ends what it has read enough of. */
const cutShort = 141

/** Where a stage before the last has failed, which the exit status does not tell. */
function describeStages({ pipeStatus }: Result): string {
  const failed = pipeStatus?.slice(0, -1).some((status) => status !== 0 && status !== cutShort)
  return failed ? `stages: ${pipeStatus?.join(', ')}` : ''
}

export function outputLines(result: Result): string[] {
  return splitLines(result.output ?? `${result.stdout ?? ''}${result.stderr ?? ''}`)
}

/** Lines as the program wrote them: the person's terminal wraps them, and copies them whole. */
export function joinWrapped({ lines, wrapped }: Tail): string[] {
  const joined: string[] = []
  for (const [at, line] of lines.entries()) {
    if (wrapped[at] && joined.length > 0) joined[joined.length - 1] += line
    else joined.push(line)
  }
  return joined
}

/** More lines that belong together are waited for so long, and the rest of a line. */
const restMs = 100
/** So much of what start files have to say is shown. */
const startLines = 20

/**
 * Prints what a person's shell writes while none of its commands runs: greetings, the errors of start
 * files, what prompt hooks and background jobs say. What only moves the cursor says nothing.
 */
export function createStrayOutput(print: (lines: readonly string[]) => void): {
  take(bytes: Uint8Array, phase: 'start' | 'hook' | 'idle'): void
  /** Prints what waits for the rest of its line: something else is about to be printed. */
  flush(): void
} {
  const decoder = new TextDecoder()
  let text = ''
  let timer: NodeJS.Timeout | null = null
  let shownAtStart = 0

  function flush(): void {
    if (timer) clearTimeout(timer)
    timer = null
    const clean = stripVTControlCharacters(text).replaceAll(/[^\P{Cc}\t\n]/gu, '')
    text = ''
    const lines = clean.split('\n').map((line) => line.trimEnd())
    print(lines.filter((line) => line !== ''))
  }

  return {
    take(bytes, phase) {
      const more = decoder.decode(bytes, { stream: true })
      if (phase === 'start') {
        shownAtStart += more.split('\n').length - 1
        if (shownAtStart > startLines) return
      }
      text += more
      timer ??= setTimeout(flush, restMs).unref()
    },
    flush,
  }
}
