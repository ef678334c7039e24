import { stripVTControlCharacters } from 'node:util'
import type { Streams } from '../doors/streams.ts'
import { usualSize } from '../protocol/limits.ts'
import { nowMs } from '../system/clock.ts'
import type { LineReader } from './context.ts'
import {
  type CommandRunner,
  type ReplState,
  type RunnerParts,
  sessionRequest,
} from './run-command.ts'
import { describeFaults, renderEnd } from './screen/block.ts'
import type { Display, View } from './screen/display.ts'
import { widthOf } from './screen/text.ts'

/** A terminal that only prints (`TERM=dumb`): lines in, text out, no escape sequences. */
export interface PlainDisplay extends Display {
  /** Null at the end: Ctrl-D on an empty line, or the terminal has gone. */
  readLine(mark: string): Promise<string | null>
  /** What has been typed since the last line was read, and is for nobody yet. */
  takeAhead(): string
}

const signalKey = /[\u0003\u001A\u001C]/

/** Echoes what is typed; Backspace, Ctrl-U, Ctrl-C and Ctrl-D do as in a terminal's own line mode. */
export function createPlainDisplay(streams: Streams, onEnd: () => void): PlainDisplay {
  const { stdin, stdout } = streams
  const views: View[] = []
  let pending = ''
  let asked: { mark: string; settle: (line: string | null) => void } | null = null
  let typed = ''
  let lastKeyMs = 0
  let open = true
  const write = (text: string) => void stdout.write(text)
  const size = () => stdout.size() ?? usualSize
  const plain = (lines: readonly string[]) => lines.map(stripVTControlCharacters)

  function settle(line: string | null): void {
    const answer = asked
    asked = null
    typed = ''
    answer?.settle(line)
  }

  function takeChar(char: string, mark: string): void {
    if (char === '\r' || char === '\n') {
      write('\n')
      settle(typed)
    } else if (char === '\u0003') {
      write(`^C\n${mark}`)
      typed = ''
    } else if (char === '\u0004') {
      if (typed === '') settle(null)
    } else if (char === '\u0015') {
      erase(typed)
      typed = ''
    } else if (char === '\u007F' || char === '\b') {
      const last = [...new Intl.Segmenter().segment(typed)].at(-1)?.segment ?? ''
      erase(last)
      typed = typed.slice(0, typed.length - last.length)
    } else if (char >= ' ' || char === '\t') {
      typed += char
      write(char)
    }
  }

  /** Takes the end of what was typed off the screen, column by column. */
  function erase(text: string): void {
    write('\b \b'.repeat(widthOf(text)))
  }

  function take(): void {
    while (asked && pending !== '') {
      const [char = ''] = pending
      pending = pending.slice(char.length)
      takeChar(char, asked.mark)
    }
  }

  function onData(data: string): void {
    lastKeyMs = nowMs()
    const key = asked ? null : signalKey.exec(data)?.[0]
    if (key) {
      pending = ''
      views.at(-1)?.key(key)
    } else pending += data
    take()
  }

  async function readLine(mark: string): Promise<string | null> {
    if (!open) return null
    write(mark)
    return new Promise((settle) => {
      asked = { mark, settle }
      take()
    })
  }

  /** A view that is answered by a line is printed and asks for it; what was typed before it is for later. */
  async function ask(view: View): Promise<void> {
    while (open && views.at(-1) === view) {
      const { lines, cursor } = view.render(size().columns, size().rows)
      const [mark = ''] = lines.splice(cursor?.row ?? 0, 1)
      write(`${plain(lines).join('\n')}\n`)
      const before = pending
      pending = ''
      const line = await readLine(`${stripVTControlCharacters(mark).trim()} `)
      pending = before + pending
      for (const key of line === null ? '\u001B' : [...line, '\r']) view.key(key)
    }
  }

  function close(): void {
    if (!open) return
    open = false
    stdin.off('data', onData).off('end', end).off('error', end)
    stdin.setRawMode(false)
    stdin.pause()
    settle(null)
  }

  function end(): void {
    close()
    onEnd()
  }

  function printWhole(lines: readonly string[]): void {
    if (lines.length > 0) write(`${plain(lines).join('\n')}\n`)
  }

  stdin.setEncoding('utf8')
  stdin.setRawMode(true)
  stdin.on('data', onData).on('end', end).on('error', end)
  stdin.resume()

  return {
    isPlain: true,
    hasFocus: true,
    get columns() {
      return size().columns
    },
    get rows() {
      return size().rows
    },
    get lastKeyMs() {
      return lastKeyMs
    },
    print: printWhole,
    printWhole,
    open(view) {
      views.push(view)
      if (view.asksForLine) void ask(view)
      return () => {
        const at = views.indexOf(view)
        if (at >= 0) views.splice(at, 1)
      }
    },
    refresh: () => undefined,
    keepKey: (data) => void (pending += data),
    replayKeys: () => undefined,
    setTitle: () => undefined,
    ring: () => write('\u0007'),
    copy: () => undefined,
    clear: () => undefined,
    close,
    readLine,
    takeAhead() {
      const ahead = pending
      pending = ''
      return ahead
    },
  }
}

export function createPlainReader(display: PlainDisplay, state: ReplState): LineReader {
  /** Lines of an unfinished command. */
  let before = ''
  return {
    text: () => before,
    setText: (text) => void (before = text),
    async next() {
      const line = await display.readLine(state.bash ? 'bash> ' : '> ')
      const text = before + (line ?? '')
      before = ''
      if (line !== null) return { type: 'line', text }
      display.printWhole([''])
      return { type: 'leave', key: 'ctrl+d' }
    },
  }
}

/** Between two looks whether the program reads what was typed meanwhile. */
const lookMs = 50

/** Runs commands one after the other, whose own bytes come out. */
export function createPlainRunner(
  streams: Streams,
  display: PlainDisplay,
  parts: RunnerParts,
): CommandRunner {
  const { state, style } = parts
  return {
    jobs: () => [],
    runningJobs: () => [],
    attach: async () => undefined,
    resize: () => undefined,
    async run({ command, injected, shownAs }) {
      parts.beforePrint()
      const stop = new AbortController()
      let last = '\n'
      const starting = parts.executor.start(
        { ...sessionRequest(state), command, env: { TERM: 'dumb' } },
        {
          signal: stop.signal,
          approve: parts.approve,
          onEvent(event) {
            if (event.type !== 'output') return
            last = String.fromCharCode(event.bytes.at(-1) ?? 10)
            return streams.stdout.write(event.bytes)
          },
        },
      )
      let type = (key: string) => {
        if (key === '\u0003') stop.abort()
      }
      const close = display.open({
        render: () => ({ lines: [], cursor: null }),
        key: (key) => type(key),
      })
      let typing: NodeJS.Timeout | undefined
      try {
        const run = await starting
        type = (key) => void run.write(key).catch(() => undefined)
        typing = setInterval(() => {
          if (process.platform === 'linux' && run.look().waitingForInput === null) return
          const ahead = display.takeAhead()
          if (ahead !== '') type(ahead)
        }, lookMs)
        const result = await run.ended
        if (shownAs === undefined) parts.onEnded(result, injected)
        state.cwd = (await parts.session()).info().cwd
        if (last !== '\n') await streams.stdout.write('\n')
        display.printWhole([...describeFaults(result, false), renderEnd(result, style)])
        return result
      } finally {
        clearInterval(typing)
        close()
      }
    },
  }
}
