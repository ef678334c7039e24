import type { Streams } from '../../streams.ts'

/** Lines typed at a terminal that cannot move its cursor; it is in raw mode until they are closed. */
export interface PlainLines extends AsyncIterable<string> {
  close(): void
}

export interface PlainLinesOptions {
  /** Aborting it ends the lines. */
  signal: AbortSignal
  mark: string
  /** Ctrl-C while no line is asked for. */
  onInterrupt: () => void
}

/** Echoes what is typed; Backspace, Ctrl-U, Ctrl-C and Ctrl-D do as in a terminal's own line mode. */
export function readPlainLines(streams: Streams, options: PlainLinesOptions): PlainLines {
  const { stdin, stdout } = streams
  let pending = ''
  let asked: ((line: string | null) => void) | null = null
  let typed = ''
  let open = true
  const write = (text: string) => void stdout.write(text)

  function settle(line: string | null): void {
    const answer = asked
    asked = null
    typed = ''
    answer?.(line)
  }

  function take(): void {
    while (asked && pending !== '') {
      const [char = ''] = pending
      pending = pending.slice(char.length)
      takeChar(char)
    }
  }

  function takeChar(char: string): void {
    if (char === '\r' || char === '\n') {
      write('\n')
      settle(typed)
    } else if (char === '\u0003') {
      write(`^C\n${options.mark}`)
      typed = ''
    } else if (char === '\u0004') {
      if (typed === '') settle(null)
    } else if (char === '\u0015') {
      write('\b \b'.repeat(typed.length))
      typed = ''
    } else if (char === '\u007F' || char === '\b') {
      if (typed !== '') write('\b \b')
      typed = [...typed].slice(0, -1).join('')
    } else if (char >= ' ' || char === '\t') {
      typed += char
      write(char)
    }
  }

  const onData = (data: string) => {
    if (!asked && data.includes('\u0003')) return options.onInterrupt()
    pending += data
    take()
  }
  const end = () => settle(null)
  stdin.setEncoding('utf8')
  stdin.setRawMode(true)
  stdin.on('data', onData).on('end', end).on('error', end)
  stdin.resume()
  options.signal.addEventListener('abort', end, { once: true })

  return {
    async *[Symbol.asyncIterator]() {
      while (open && !options.signal.aborted) {
        write(options.mark)
        const line = await new Promise<string | null>((resolve) => {
          asked = resolve
          take()
        })
        if (line === null) return
        yield line
      }
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
