import type { Streams } from '../../doors/streams.ts'
import { widthOf } from '../screen/text.ts'
import { createDeferred } from '../../protocol/deferred.ts'

/** Lines typed at a terminal that cannot move its cursor; it is in raw mode until they are closed. */
export interface PlainLines {
  /** Null at the end: Ctrl-D on an empty line, or the terminal has gone. */
  ask(mark: string): Promise<string | null>
  /** Asks a question; what was typed before it is for the line after it. */
  askAnew(mark: string): Promise<string | null>
  /** What has been typed since the last line was asked for, and is for nobody yet. */
  takeAhead(): string
  /** Settles when no line can come any more: the terminal has gone, or the lines were ended. */
  readonly ended: Promise<void>
  close(): void
}

export interface PlainLinesOptions {
  /** Aborting it ends the lines. */
  signal: AbortSignal
  /** Ctrl-C, Ctrl-Z or Ctrl-\ while no line is asked for. */
  onSignalKey: (key: string) => void
}

const signalKey = /[\u0003\u001A\u001C]/

/** Echoes what is typed; Backspace, Ctrl-U, Ctrl-C and Ctrl-D do as in a terminal's own line mode. */
export function readPlainLines(streams: Streams, options: PlainLinesOptions): PlainLines {
  const { stdin, stdout } = streams
  let pending = ''
  let asked: { mark: string; settle: (line: string | null) => void } | null = null
  let typed = ''
  let open = true
  const { promise: ended, resolve: tellEnded } = createDeferred()
  const write = (text: string) => void stdout.write(text)

  function settle(line: string | null): void {
    const answer = asked
    asked = null
    typed = ''
    answer?.settle(line)
  }

  function take(): void {
    while (asked && pending !== '') {
      const [char = ''] = pending
      pending = pending.slice(char.length)
      takeChar(char, asked.mark)
    }
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

  function onData(data: string): void {
    const key = asked ? null : signalKey.exec(data)
    if (!key) pending += data
    else {
      pending = ''
      options.onSignalKey(key[0])
    }
    take()
  }

  async function ask(mark: string): Promise<string | null> {
    if (!open || options.signal.aborted) return null
    write(mark)
    return new Promise((settle) => {
      asked = { mark, settle }
      take()
    })
  }

  function end(): void {
    settle(null)
    tellEnded()
  }

  stdin.setEncoding('utf8')
  stdin.setRawMode(true)
  stdin.on('data', onData).on('end', end).on('error', end)
  stdin.resume()
  options.signal.addEventListener('abort', end, { once: true })

  return {
    ask,
    ended,
    async askAnew(mark) {
      const before = pending
      pending = ''
      const line = await ask(mark)
      pending = before + pending
      return line
    },
    takeAhead() {
      const ahead = pending
      pending = ''
      return ahead
    },
    close() {
      if (!open) return
      open = false
      options.signal.removeEventListener('abort', end)
      stdin.off('data', onData).off('end', end).off('error', end)
      stdin.setRawMode(false)
      stdin.pause()
    },
  }
}
